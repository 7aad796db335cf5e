//! The status of a server of the token service as people want to read it.

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use comfy_table::Table;
use ring_control::ftn::{ServerStatus, Status};
use ring_control::{Health, NodeStatus, Verdict, harmless};

use super::text::{self, LISTED, group, more, short, table, troubles};
use super::view::{Obstacle, View};

/// The status of a server.
pub(crate) struct ServerView {
    status: Status,
    whole: NodeStatus,
}

impl ServerView {
    /// Reads a status.
    pub(crate) fn of(whole: NodeStatus) -> serde_json::Result<Self> {
        let mut status: Status = whole.json().read()?;
        status.troubles = whole.verdict().troubles;
        Ok(Self { status, whole })
    }
}

impl View for ServerView {
    fn verdict(&self) -> Verdict {
        self.whole.verdict()
    }

    fn json(&self) -> NodeStatus {
        self.whole.clone()
    }

    fn show(&self, output: &mut dyn Write) -> io::Result<()> {
        let status = &self.status;
        head(status, self.verdict().health, output)?;
        writeln!(output, "\nServers ({})", status.servers.len())?;
        writeln!(output, "{}", servers(status).trim_fmt())?;
        troubles(&status.troubles, output)?;
        sessions(status, output)?;
        if !status.counters.is_empty() {
            writeln!(output, "\nCounters (those that are not 0)")?;
            group("", &status.counters, output)?;
        }
        Ok(())
    }

    fn line(&self) -> String {
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

    /// It grants tokens to clients anywhere, and none by way of its control socket.
    fn obstacle(&self, _: bool) -> Option<Obstacle> {
        None
    }
}

fn head(status: &Status, health: Health, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![
        (
            "Daemon",
            format!("ringd {}, up {}", status.ringd, short(status.up_ns)),
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
        let left = short(status.grace_ns);
        let text = format!(
            "{left} left, in which clients of an earlier run may come back; nothing is granted"
        );
        lines.push(("Grace", text));
    }
    if let Some(awaited) = &status.survey {
        let text = format!("asking what is held: clients awaited: {}", awaited.len());
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
    text::head(lines, out)
}

fn role(status: &Status) -> String {
    let authority = if status.authority {
        "with authority"
    } else {
        "without authority"
    };
    let role = harmless(&status.role);
    if status.leader.is_none() {
        return format!("{role}: no leader is heard");
    }
    format!(
        "{role}, {authority}, configuration {}",
        status.configuration
    )
}

fn state(status: &Status) -> String {
    let serves = if status.is_serving() {
        "serves its tokens"
    } else {
        "serves nothing"
    };
    format!("{}, {serves}", harmless(&status.state))
}

fn servers(status: &Status) -> Table {
    let mut table = table([" N", "SERVER", "STATE", ""]);
    for (index, server) in status.servers.iter().enumerate() {
        table.add_row(row(status, index, server));
    }
    table
}

fn row(status: &Status, index: usize, server: &ServerStatus) -> [String; 4] {
    let remark = match (status.index == index, status.leader == Some(index)) {
        (true, true) => "this server, leader",
        (true, false) => "this server",
        (false, true) => "leader",
        (false, false) => "",
    };
    [
        format!(" {index}"),
        harmless(&server.name),
        harmless(&server.state),
        remark.to_owned(),
    ]
}

fn sessions(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    if status.sessions.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nSessions ({})", status.sessions.len())?;
    for session in status.sessions.iter().take(LISTED) {
        writeln!(out, "  {:<12}{}", session.id, harmless(&session.address))?;
    }
    more(status.sessions.len(), out)
}

/// A number of bytes in the largest unit of which it has one: `600 B`, `1.2 MiB`.
fn size(bytes: usize) -> String {
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
