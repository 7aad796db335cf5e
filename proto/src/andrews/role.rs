//! What a node is (`docs/board.md`, sections 4 to 6).

use super::link::{Link, Membership};
use super::plea::Plea;

/// The states, each with what ends with it.
#[derive(Debug)]
pub(super) enum Role {
    /// The first look, and what follows from it, is not over. With the term that this life has claimed: a row of a former
    /// life names this node too.
    Starting(Option<u64>),
    /// It has no successor, and asks for one.
    Joining(Plea),
    /// It has one.
    Member(Membership),
}

/// A node's state as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It has not decided what it is.
    Starting,
    /// It asks for a place in the ring.
    Joining,
    /// It is in the ring.
    Member,
    /// It is in the ring, and its successor has failed.
    Recovering,
}

impl State {
    /// The name in `state`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "STARTING",
            Self::Joining => "JOINING",
            Self::Member => "MEMBER",
            Self::Recovering => "RECOVERING",
        }
    }
}

impl Role {
    pub(super) const fn state(&self) -> State {
        match self {
            Self::Starting(_) => State::Starting,
            Self::Joining(_) => State::Joining,
            Self::Member(member) => match member.link {
                Link::Failed(..) => State::Recovering,
                _ => State::Member,
            },
        }
    }

    pub(super) const fn member(&self) -> Option<&Membership> {
        match self {
            Self::Member(member) => Some(member),
            _ => None,
        }
    }

    pub(super) const fn member_mut(&mut self) -> Option<&mut Membership> {
        match self {
            Self::Member(member) => Some(member),
            _ => None,
        }
    }

    /// The request that goes on.
    pub(super) const fn plea_mut(&mut self) -> Option<&mut Plea> {
        match self {
            Self::Joining(plea)
            | Self::Member(Membership {
                link: Link::Failed(_, plea),
                ..
            }) => Some(plea),
            _ => None,
        }
    }

    pub(super) const fn plea(&self) -> Option<&Plea> {
        match self {
            Self::Joining(plea)
            | Self::Member(Membership {
                link: Link::Failed(_, plea),
                ..
            }) => Some(plea),
            _ => None,
        }
    }

    /// Who has failed.
    pub(super) const fn failed(&self) -> Option<u32> {
        match self {
            Self::Member(Membership {
                link: Link::Failed(id, _),
                ..
            }) => Some(*id),
            _ => None,
        }
    }
}
