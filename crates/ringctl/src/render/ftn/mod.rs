//! The page about a server of the token service.

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use comfy_table::Table;
use ring_control::ftn::{ServerStatus, Status};
use ring_control::{Health, NodeStatus, escape_control_characters};

use super::text::{
    self, ROWS_MAX, new_table, short_duration, write_counters, write_more, write_troubles,
};
use super::view::View;

pub(crate) struct ServerView {
    status: Status,
    whole: NodeStatus,
}

impl ServerView {
    pub(crate) fn new(whole: NodeStatus) -> serde_json::Result<Self> {
        let mut status: Status = whole.json().decode()?;
        status.troubles = whole.verdict().troubles;
        Ok(Self { status, whole })
    }
}

impl View for ServerView {
    fn node(&self) -> &NodeStatus {
        &self.whole
    }

    fn write_page(&self, output: &mut dyn Write) -> io::Result<()> {
        let status = &self.status;
        write_head(status, self.whole.verdict().health, output)?;
        writeln!(output, "\nServers ({})", status.servers.len())?;
        writeln!(output, "{}", server_table(status).trim_fmt())?;
        write_troubles(&status.troubles, output)?;
        write_sessions(status, output)?;
        text::write_options(&status.config, output)?;
        if !status.counters.is_empty() {
            writeln!(output, "\nCounters (those that are not 0)")?;
            write_counters("", &status.counters, output)?;
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let status = &self.status;
        let leader = status
            .leader
            .map_or_else(|| "-".to_owned(), |leader| leader.to_string());
        format!(
            "{} {} leader {leader} configuration {} sessions {} tokens {}",
            status.role,
            status.state,
            status.configuration,
            status.sessions.len(),
            status.tokens
        )
    }
}

fn write_head(status: &Status, health: Health, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![
        (
            "Daemon",
            format!(
                "ringd {}, up {}",
                status.ringd,
                short_duration(status.up_ns)
            ),
        ),
        (
            "Server",
            format!(
                "{} of the list with signature {}",
                status.index, status.ssig
            ),
        ),
        ("Health", health.name().to_owned()),
        ("Role", role(status)),
        ("State", state(status)),
        (
            "Quorum",
            format!("{} of {}", status.quorum, status.servers.len()),
        ),
    ];
    if status.grace_ns > 0 {
        let left = short_duration(status.grace_ns);
        let text = format!(
            "no token is granted for another {left}, because clients of an earlier run can still come back"
        );
        lines.push(("Grace", text));
    }
    if let Some(awaited) = &status.survey {
        let text = format!(
            "asks clients for the tokens that they hold: {} clients have not answered",
            awaited.len()
        );
        lines.push(("Survey", text));
    }
    let tokens = format!(
        "{}, {} held; requests waiting: {}",
        status.tokens, status.held, status.waiting
    );
    lines.push(("Tokens", tokens));
    let memory = format!(
        "{} of {}",
        size(status.memory_bytes),
        size(status.max_memory_bytes)
    );
    lines.push(("Memory", memory));
    let keys = text::keys_text(&status.trust, "datagrams");
    lines.extend(keys.map(|text| ("Keys", text)));
    let sandbox = text::sandbox_text(&status.missing_limits);
    lines.extend(sandbox.map(|text| ("Sandbox", text)));
    text::write_head(lines, out)
}

pub(crate) fn role(status: &Status) -> String {
    let authority = if status.authority {
        "with authority"
    } else {
        "without authority"
    };
    let role = escape_control_characters(&status.role);
    if status.leader.is_none() {
        return format!("{role}: no leader is known");
    }
    format!(
        "{role}, {authority}, configuration {}",
        status.configuration
    )
}

pub(crate) fn state(status: &Status) -> String {
    let serves = if status.is_serving() {
        "serves its tokens"
    } else {
        "serves no tokens"
    };
    format!("{}, {serves}", escape_control_characters(&status.state))
}

fn server_table(status: &Status) -> Table {
    let mut table = new_table([" N", "SERVER", "STATE", ""]);
    for (index, server) in status.servers.iter().enumerate() {
        table.add_row(row(status, index, server));
    }
    table
}

fn row(status: &Status, index: usize, server: &ServerStatus) -> [String; 4] {
    let role = match (status.index == index, status.leader == Some(index)) {
        (true, true) => "this server, leader",
        (true, false) => "this server",
        (false, true) => "leader",
        (false, false) => "",
    };
    let key = server.key.map(|key| format!("key {key}"));
    let remarks = Some(role.to_owned()).filter(|it| !it.is_empty());
    let remarks: Vec<String> = remarks.into_iter().chain(key).collect();
    [
        format!(" {index}"),
        escape_control_characters(&server.name),
        escape_control_characters(&server.state),
        remarks.join(", "),
    ]
}

fn write_sessions(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    if status.sessions.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nSessions ({})", status.sessions.len())?;
    for session in status.sessions.iter().take(ROWS_MAX) {
        let address = escape_control_characters(&session.address);
        let key = session.key.map(|key| format!(", key {key}"));
        let key = key.unwrap_or_default();
        writeln!(out, "  {:<12}{address}{key}", session.id)?;
    }
    write_more(status.sessions.len(), out)
}

/// Formats a number of bytes in the largest unit that fits: `600 B`, `1.2 MiB`.
pub(crate) fn size(bytes: usize) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fitting = units.into_iter().find(|(_, shift)| bytes >> shift > 0);
    let Some((unit, shift)) = fitting else {
        return format!("{bytes} B");
    };
    match (bytes >> shift, ((bytes >> (shift - 10)) % 1024) * 10 / 1024) {
        (whole, 0) => format!("{whole} {unit}"),
        (whole, tenth) => format!("{whole}.{tenth} {unit}"),
    }
}
