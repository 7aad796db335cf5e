//! A node's condition in a few words. The service manager shows the condition in these words.

use std::fmt;

use ring_proto::lab2::{Lab2, State};

/// A node's condition. The condition stays the same while the token rotates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// The interface cannot be used.
    NoLink,
    /// The node is in a ring.
    Member {
        /// The number of members that the node knows, including itself.
        members: usize,
    },
    /// The node looks for a token (LOOSER).
    Looking,
    /// The node takes part in an election (GENERATING).
    Electing,
}

impl Condition {
    pub(super) fn of(machine: &Lab2, link_up: bool) -> Self {
        match machine.state() {
            _ if !link_up => Self::NoLink,
            State::Owner | State::Waiter => Self::Member {
                members: machine.members().len(),
            },
            State::Looser => Self::Looking,
            State::Generating => Self::Electing,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLink => f.write_str("waiting for the interface"),
            Self::Member { members: 1 } => f.write_str("the only member of its ring"),
            Self::Member { members } => write!(f, "in a ring, {members} members known"),
            Self::Looking => f.write_str("looking for a token"),
            Self::Electing => f.write_str("electing an owner"),
        }
    }
}
