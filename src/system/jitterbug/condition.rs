//! A node's condition in a few words, for the service manager.

use std::fmt;

use ring_proto::jitterbug::{NodeSummary, State};

/// A node's condition. It does not change with each turn of the token.
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
