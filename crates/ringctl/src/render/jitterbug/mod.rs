//! The page about a node of a Jitterbug ring.

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use comfy_table::Table;
use ring_control::jitterbug::{LEADER, Status, WAITER};
use ring_control::{NodeStatus, escape_control_characters};
use ring_text::format_bytes;

use super::text::{self, ROWS_MAX, new_table, write_counters, write_more, write_troubles};
use super::view::{Obstacle, View};

/// Maximum number of characters of the data on the page.
const DATA_CHARS_MAX: usize = 64;

pub(crate) struct NodeView {
    status: Status,
    whole: NodeStatus,
}

impl NodeView {
    pub(crate) fn new(whole: NodeStatus) -> serde_json::Result<Self> {
        let mut status: Status = whole.json().decode()?;
        status.troubles = whole.verdict().troubles;
        Ok(Self { status, whole })
    }
}

impl View for NodeView {
    fn node(&self) -> &NodeStatus {
        &self.whole
    }

    fn write_page(&self, output: &mut dyn Write) -> io::Result<()> {
        let status = &self.status;
        write_head(status, output)?;
        writeln!(
            output,
            "\nNodes ({}, in the order of the token)",
            status.nodes.len()
        )?;
        writeln!(output, "{}", node_table(status).trim_fmt())?;
        write_more(status.nodes.len(), output)?;
        write_troubles(&status.troubles, output)?;
        if !status.to_add.is_empty() {
            writeln!(output, "\nTo be added ({})", status.to_add.len())?;
            for node in status.to_add.iter().take(ROWS_MAX) {
                writeln!(
                    output,
                    "  {:<40}{}",
                    escape_control_characters(&node.address),
                    node.port
                )?;
            }
            write_more(status.to_add.len(), output)?;
        }
        text::write_options(&status.config, output)?;
        writeln!(output, "\nCounters (those that are not 0)")?;
        write_counters("", &status.counters.plain, output)?;
        write_counters("dropped", &status.counters.dropped, output)
    }

    fn summary(&self) -> String {
        let status = &self.status;
        format!(
            "{} token_id {} nodes {} data {}",
            escape_control_characters(&status.state),
            status.token_id,
            status.nodes.len(),
            data_text(status)
        )
    }

    fn obstacle(&self, _: bool) -> Option<Obstacle> {
        Some(match self.status.state.as_str() {
            LEADER => Obstacle::passing(
                "this node has the token: a program of this machine uses it, or the node passes it on",
            ),
            WAITER => Obstacle::passing("the token is at another node, and will come to this node"),
            _ if self.status.address.is_none() => Obstacle::lasting(format!(
                "{} has no address",
                escape_control_characters(&self.status.interface)
            )),
            _ => Obstacle::lasting("this node has no ring: it looks for a leader"),
        })
    }
}

fn write_head(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let state = match status.state.as_str() {
        LEADER => "leader: it has the token",
        WAITER => "waiter: the token is at another node",
        _ if status.address.is_none() => "orphan: it waits for an address",
        _ => "orphan: it looks for a leader",
    };
    let address = match (&status.address, status.tcp_port) {
        (Some(address), Some(port)) => {
            format!("{}, TCP port {port}", escape_control_characters(address))
        }
        (Some(address), None) => escape_control_characters(address),
        (None, _) => "none".to_owned(),
    };
    let mut lines = vec![
        ("Interface", escape_control_characters(&status.interface)),
        (
            "Address",
            format!("{address}, UDP port {}", status.udp_port),
        ),
        ("Health", status.health.name().to_owned()),
        ("State", state.to_owned()),
        ("Token", format!("id {}", status.token_id)),
        ("List", format!("hash {}", status.node_list_hash)),
        (
            "Data",
            format!("{}, {}", format_bytes(status.data_len), data_text(status)),
        ),
    ];
    let keys = text::keys_text(&status.trust, "messages");
    lines.extend(keys.map(|text| ("Keys", text)));
    let sandbox = text::sandbox_text(&status.missing_limits);
    lines.extend(sandbox.map(|text| ("Sandbox", text)));
    text::write_head(lines, out)
}

/// Returns the data, cut to a maximum length: as text if they are text, otherwise in hexadecimal digits.
fn data_text(status: &Status) -> String {
    let text = match &status.data {
        _ if status.data_len == 0 => return "none".to_owned(),
        Some(text) => escape_control_characters(text),
        None => format!(
            "hexadecimal {}",
            escape_control_characters(&status.data_hex)
        ),
    };
    match text.char_indices().nth(DATA_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn node_table(status: &Status) -> Table {
    let mut table = new_table([" ADDRESS", "PORT", "PENALTY", ""]);
    for node in status.nodes.iter().take(ROWS_MAX) {
        let own = status.address.as_ref() == Some(&node.address);
        let penalty = match (node.penalty.threshold, node.penalty.count) {
            (0, 0) => String::new(),
            (threshold, count) => format!("{threshold} ({count} skipped)"),
        };
        table.add_row([
            format!(" {}", escape_control_characters(&node.address)),
            node.port.to_string(),
            penalty,
            match node.key {
                _ if own => "this node".to_owned(),
                Some(key) => format!("key {key}"),
                None if status.trust.keys.is_empty() => String::new(),
                None => "unsigned".to_owned(),
            },
        ]);
    }
    table
}
