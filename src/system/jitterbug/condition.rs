//! A node's condition in a few words. The service manager shows the condition in these words.

use std::fmt;

use ring_proto::jitterbug::{NodeSummary, State};

/// A node's condition. The rotation of the token does not change the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    NoLink,
    Orphan,
    InRing,
}

impl Condition {
    pub(super) fn of(is_up: bool, standing: NodeSummary) -> Self {
        match standing.state {
            _ if !is_up => Self::NoLink,
            State::Orphan => Self::Orphan,
            State::Waiter | State::Leader => Self::InRing,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLink => "waiting for an address",
            Self::Orphan => "looking for a leader",
            Self::InRing => "in the ring",
        })
    }
}
