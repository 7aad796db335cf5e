//! The page of a node of a Jitterbug ring.

use ring_control::escape_control_characters;
use ring_control::jitterbug::{LEADER, Status};
use ring_text::format_bytes;

use super::page::{Bars, Emphasis, Page, Table, counter};

pub(super) fn page(status: &Status) -> Page {
    let count = |name: &str| status.counters.plain.get(name).copied().unwrap_or_default();
    let address = status.address.as_deref().unwrap_or("no address");
    Page {
        title: format!(
            "ringd jitterbug on {}, {}",
            escape_control_characters(&status.interface),
            escape_control_characters(address)
        ),
        facts: vec![
            ("State", escape_control_characters(&status.state)),
            ("Token", format!("id {}", status.token_id)),
            ("Data", format_bytes(status.data_len)),
            ("List", format!("hash {}", status.node_list_hash)),
        ],
        tables: vec![node_table(status)],
        counters: vec![
            counter("Taken", count("taken")),
            counter("Passed", count("passes_done")),
            counter("Not passed", count("passes_failed")),
            counter("Dropped", status.counters.dropped.values().sum()),
        ],
        bars: Bars::Time("Time per rotation"),
        ..Page::default()
    }
}

fn node_table(status: &Status) -> Table {
    let columns = [
        ("", 0),
        ("ADDRESS", 0),
        ("PORT", 1),
        ("PENALTY", 0),
        ("NOTE", 0),
    ];
    let mut table = Table::new("Nodes, in the order of the token", columns);
    for node in &status.nodes {
        let is_self = status.address.as_ref() == Some(&node.address);
        let is_leader = is_self && status.state == LEADER;
        let penalty = node.penalty;
        let emphasis = match penalty.threshold {
            _ if is_leader => Emphasis::Owner,
            0 => Emphasis::None,
            _ => Emphasis::Problem,
        };
        table.add(
            emphasis,
            [
                if is_leader { "*" } else { "" }.to_owned(),
                node.address.clone(),
                node.port.to_string(),
                match (penalty.threshold, penalty.count) {
                    (0, 0) => "-".to_owned(),
                    (threshold, count) => format!("{threshold} ({count} skipped)"),
                },
                if is_self { "this node" } else { "" }.to_owned(),
            ],
        );
    }
    for node in &status.to_add {
        table.add(
            Emphasis::None,
            [
                String::new(),
                node.address.clone(),
                node.port.to_string(),
                "-".to_owned(),
                "to be added".to_owned(),
            ],
        );
    }
    table
}
