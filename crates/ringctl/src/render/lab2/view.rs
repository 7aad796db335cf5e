//! The status and the events of a ring, for people.

use std::fmt::Write as _;
use std::io::{self, Write};

use ring_control::lab2::{RingEvent, Status, TokenStatus};
use ring_control::{EventMessage, NodeStatus, Verdict, harmless};

use super::super::view::{Obstacle, View};
use super::members::{self, named};
use super::obstacle::obstacle;
use super::page;

/// The status of a node of a ring, with the names that this machine knows its members by.
pub(crate) struct RingView(Status);

impl RingView {
    /// Reads a status.
    pub(crate) fn of(node: &NodeStatus) -> serde_json::Result<Self> {
        let mut status: Status = node.json().read()?;
        members::give_to(&mut status);
        let Verdict { health, troubles } = node.verdict();
        let troubles = troubles.iter().map(|text| named(text, &status));
        (status.troubles, status.health) = (troubles.collect(), health);
        Ok(Self(status))
    }
}

impl View for RingView {
    fn verdict(&self) -> Verdict {
        Verdict {
            health: self.0.health,
            troubles: self.0.troubles.clone(),
        }
    }

    fn json(&self) -> NodeStatus {
        NodeStatus::from(&self.0)
    }

    fn show(&self, output: &mut dyn Write) -> io::Result<()> {
        page::status(&self.0, output)
    }

    fn line(&self) -> String {
        let status = &self.0;
        let line = format!(
            "{} token {} owner {}, {} of {} members there, {} needed for a quorum",
            status.state,
            token(status.token.as_ref()),
            owner(status.owner.as_deref()),
            status.quorum.present,
            status.quorum.ring,
            status.quorum.needed
        );
        named(&line, status)
    }

    fn named(&self, text: String) -> String {
        named(&text, &self.0)
    }

    fn obstacle(&self, requires_quorum: bool) -> Option<Obstacle> {
        let found = obstacle(&self.0, requires_quorum);
        Some(Obstacle {
            text: named(&found.text, &self.0),
            ..found
        })
    }
}

/// Returns an event of a ring as a text; `None`: it is another system's.
pub(crate) fn event_text(event: &EventMessage) -> Option<String> {
    let ring: RingEvent = event.json().read().ok()?;
    let mut text = match &ring.from {
        Some(from) => format!("{from}->{}", ring.state),
        None => ring.state.clone(),
    };
    let (token, owner) = (token(ring.token.as_ref()), owner(ring.owner.as_deref()));
    // Writing to a String cannot fail.
    let _ = write!(text, " token {token} owner {owner} grade {}", ring.grade);
    let details = [
        ("reason", &ring.reason),
        ("member", &ring.member),
        ("label", &ring.label),
    ];
    for (name, value) in details {
        if let Some(value) = value {
            let _ = write!(text, " {name} {}", harmless(value));
        }
    }
    if ring.others > 0 {
        let _ = write!(text, " others {}", ring.others);
    }
    Some(text)
}

/// A token in its one spelling.
fn token(token: Option<&TokenStatus>) -> &str {
    token.map_or("none", |token| &token.fencing)
}

fn owner(owner: Option<&str>) -> &str {
    owner.unwrap_or("unknown")
}
