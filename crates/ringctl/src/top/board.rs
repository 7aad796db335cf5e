//! The page of a node of the board. The keys are those of `docs/board/status.md`.

use std::collections::BTreeMap;

use ring_control::escape_control_characters;
use serde::Deserialize;

use super::page::{Bars, Emphasis, Page, Table, counter};

/// The shown keys of the status.
#[derive(Debug, Deserialize)]
pub(super) struct BoardStatus {
    id: u32,
    state: String,
    coordinator: Option<u32>,
    term: u64,
    members: Vec<u32>,
    successor: Option<u32>,
    predecessor: Option<u32>,
    token: BoardToken,
    database: String,
    waiting: usize,
    counters: BoardCounters,
}

#[derive(Debug, Deserialize)]
struct BoardToken {
    held: bool,
    sequence: String,
}

/// The shown counters. A counter of messages is absent if its value is 0.
#[derive(Debug, Deserialize)]
struct BoardCounters {
    received: BTreeMap<String, u64>,
    sent: BTreeMap<String, u64>,
    dropped: BTreeMap<String, u64>,
    posts: u64,
}

pub(super) fn page(status: &BoardStatus) -> Page {
    let taken = status.counters.received.get("TOKEN");
    let node = |id: Option<u32>| id.map_or_else(|| "none".to_owned(), |id| format!("node {id}"));
    let token = if status.token.held {
        "here"
    } else {
        "elsewhere"
    };
    let token = format!("{token}, sequence {}", status.token.sequence);
    Page {
        title: format!("ring-board, node {}", status.id),
        facts: vec![
            ("State", escape_control_characters(&status.state)),
            (
                "Coordinator",
                format!("{}, term {}", node(status.coordinator), status.term),
            ),
            ("Token", escape_control_characters(&token)),
            ("Database", escape_control_characters(&status.database)),
            ("Waiting", format!("{} requests", status.waiting)),
        ],
        tables: vec![member_table(status)],
        counters: vec![
            counter("Taken", taken.copied().unwrap_or_default()),
            counter("Posts", status.counters.posts),
            counter("Messages in", status.counters.received.values().sum()),
            counter("Messages out", status.counters.sent.values().sum()),
            counter("Dropped", status.counters.dropped.values().sum()),
        ],
        bars: Bars::Time("Time per rotation"),
        owner: status.coordinator.map(|id| format!("node {id}")),
        ..Page::default()
    }
}

fn member_table(status: &BoardStatus) -> Table {
    let mut table = Table::new("Members", [("", 0), ("NODE", 0), ("NOTE", 0)]);
    for &id in &status.members {
        let is_self = id == status.id;
        let has_token = is_self && status.token.held;
        let notes = [
            (is_self, "this node"),
            (has_token, "has the token"),
            (status.coordinator == Some(id), "coordinator"),
            (status.successor == Some(id), "successor"),
            (status.predecessor == Some(id), "predecessor"),
        ];
        let notes: Vec<&str> = notes.iter().filter(|it| it.0).map(|it| it.1).collect();
        let emphasis = if has_token {
            Emphasis::Owner
        } else {
            Emphasis::None
        };
        table.add(
            emphasis,
            [
                if has_token { "*" } else { "" }.to_owned(),
                id.to_string(),
                notes.join(", "),
            ],
        );
    }
    table
}
