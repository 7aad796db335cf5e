//! The page of a server of the token service.

use ring_control::escape_control_characters;
use ring_control::ftn::Status;

use super::super::render::{format_size, server_role, server_state, short_duration};
use super::page::{Counter, Emphasis, Page, Table, counter};

pub(super) fn page(status: &Status) -> Page {
    Page {
        title: format!(
            "ringd {}, server {} of the token service",
            escape_control_characters(&status.ringd),
            status.index
        ),
        facts: facts(status),
        tables: vec![server_table(status), session_table(status)],
        counters: counters(status),
        owner: status.leader.map(|leader| server_name(status, leader)),
        ..Page::default()
    }
}

fn facts(status: &Status) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Role", server_role(status)),
        ("State", server_state(status)),
        ("Tokens", format!("{}, {} held", status.tokens, status.held)),
        ("Waiting", format!("{} requests", status.waiting)),
        (
            "Quorum",
            format!("{} of {}", status.quorum, status.servers.len()),
        ),
    ];
    if status.grace_ns > 0 {
        let left = short_duration(status.grace_ns);
        facts.push(("Grace", format!("grants no token for {left}")));
    }
    if let Some(awaited) = &status.survey {
        let text = format!("{} clients have not answered", awaited.len());
        facts.push(("Survey", text));
    }
    let memory = format!(
        "{} of {}",
        format_size(status.memory_bytes),
        format_size(status.max_memory_bytes)
    );
    facts.push(("Memory", memory));
    facts
}

fn server_name(status: &Status, index: usize) -> String {
    let server = status.servers.get(index);
    server.map_or_else(
        || index.to_string(),
        |server| escape_control_characters(&server.name),
    )
}

fn server_table(status: &Status) -> Table {
    let columns = [("", 0), ("N", 0), ("SERVER", 0), ("STATE", 0), ("NOTE", 1)];
    let mut table = Table::new("Servers", columns);
    for (index, server) in status.servers.iter().enumerate() {
        let is_leader = status.leader == Some(index);
        let emphasis = match server.state.as_str() {
            _ if is_leader => Emphasis::Owner,
            "DOWN" => Emphasis::Problem,
            _ => Emphasis::None,
        };
        let notes = [
            (status.index == index).then_some("this server"),
            is_leader.then_some("leader"),
        ];
        let notes: Vec<&str> = notes.into_iter().flatten().collect();
        table.add(
            emphasis,
            [
                if is_leader { "*" } else { "" }.to_owned(),
                index.to_string(),
                server.name.clone(),
                server.state.clone(),
                notes.join(", "),
            ],
        );
    }
    table
}

fn session_table(status: &Status) -> Table {
    let mut table = Table::new("Sessions", [("ID", 0), ("CLIENT", 0)]);
    for session in &status.sessions {
        let cells = [session.id.to_string(), session.address.clone()];
        table.add(Emphasis::None, cells);
    }
    table
}

fn counters(status: &Status) -> Vec<Counter> {
    let sum = |prefix: &str| {
        let counted = status.counters.iter();
        let counted = counted.filter(|(name, _)| name.starts_with(prefix));
        counted.map(|(_, count)| count).sum()
    };
    let grants = status.counters.get("grants").copied();
    vec![
        counter("Grants", grants.unwrap_or_default()),
        counter("Messages in", sum("received.")),
        counter("Messages out", sum("sent.")),
        counter("Dropped", sum("dropped.")),
    ]
}
