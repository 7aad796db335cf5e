//! The view of a ring's node, and the texts of the node's events.

use std::fmt::Write as _;
use std::io::{self, Write};

use ring_control::lab2::{RingEvent, Status, TokenStatus};
use ring_control::{EventMessage, NodeStatus, Verdict, escape_control_characters};
use ring_text::{name_macs, parse_mac};

use super::super::text::short_duration;
use super::super::view::{Obstacle, View};
use super::members::{self, append_names};
use super::obstacle::obstacle;
use super::page;

/// The status of a ring's node, with the members' names from this machine.
pub(crate) struct RingView {
    status: Status,
    node: NodeStatus,
}

impl RingView {
    pub(crate) fn new(node: &NodeStatus) -> serde_json::Result<Self> {
        let mut status: Status = node.json().decode()?;
        members::add_names(&mut status);
        let Verdict { health, troubles } = node.verdict();
        let troubles = troubles.iter().map(|text| append_names(text, &status));
        (status.troubles, status.health) = (troubles.collect(), health);
        let node = NodeStatus::from(&status);
        Ok(Self { status, node })
    }
}

impl View for RingView {
    fn node(&self) -> &NodeStatus {
        &self.node
    }

    fn write_page(&self, output: &mut dyn Write) -> io::Result<()> {
        page::write_status(&self.status, output)
    }

    fn summary(&self) -> String {
        let status = &self.status;
        let line = format!(
            "{} token {} owner {}, {} of {} members present, {} needed for a quorum",
            status.state,
            token_text(status.token.as_ref()),
            owner_text(status.owner.as_deref()),
            status.quorum.present,
            status.quorum.ring,
            status.quorum.needed
        );
        append_names(&line, status)
    }

    fn name_of(&self, mac: [u8; 6]) -> Option<String> {
        members::name_of(&self.status.members, mac)
    }

    fn obstacle(&self, requires_quorum: bool) -> Option<Obstacle> {
        let found = obstacle(&self.status, requires_quorum);
        Some(Obstacle {
            text: append_names(&found.text, &self.status),
            ..found
        })
    }
}

/// Returns the text of a ring's event. Returns `None` if the event comes from another system. If `name_of` returns no
/// name for a member, the text contains the host name from the event. This is necessary for members that joined after
/// the start of the watch.
pub(crate) fn event_text(
    event: &EventMessage,
    name_of: impl Fn([u8; 6]) -> Option<String>,
) -> Option<String> {
    let ring: RingEvent = event.json().decode().ok()?;
    let mut text = match &ring.from {
        Some(from) => format!("{from}->{}", ring.state),
        None => ring.state.clone(),
    };
    let (token, owner) = (
        token_text(ring.token.as_ref()),
        owner_text(ring.owner.as_deref()),
    );
    // Writing to a String cannot fail.
    let _ = write!(text, " token {token} owner {owner} grade {}", ring.grade);
    let left = ring.pause_left_ns.map(short_duration);
    let details = [
        ("reason", &ring.reason),
        ("pause_left", &left),
        ("pause_reason", &ring.pause_reason),
        ("member", &ring.member),
        ("lock", &ring.name),
        ("mode", &ring.mode),
        ("require", &ring.require),
        ("fencing", &ring.fencing),
        ("label", &ring.label),
    ];
    for (name, value) in details {
        if let Some(value) = value {
            let _ = write!(text, " {name} {}", escape_control_characters(value));
        }
    }
    if ring.others > 0 {
        let _ = write!(text, " others {}", ring.others);
    }
    let announced = [
        (&ring.owner, &ring.owner_name),
        (&ring.member, &ring.member_name),
    ];
    let announced_name = |mac| {
        let mut names = announced.into_iter();
        let is_it = |address: &Option<String>| address.as_deref().and_then(parse_mac) == Some(mac);
        let (_, name) = names.find(|(address, _)| is_it(address))?;
        name.as_deref().map(escape_control_characters)
    };
    Some(name_macs(&text, |mac| {
        let name = name_of(mac).as_deref().map(escape_control_characters);
        name.or_else(|| announced_name(mac))
    }))
}

fn token_text(token: Option<&TokenStatus>) -> &str {
    token.map_or("none", |token| &token.fencing)
}

fn owner_text(owner: Option<&str>) -> &str {
    owner.unwrap_or("unknown")
}
