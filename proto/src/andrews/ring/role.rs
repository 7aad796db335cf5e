//! What a node is (`docs/board.md`, sections 4 to 6).

use super::link::{Link, Membership};
use super::plea::Plea;
use crate::andrews::State;

/// The states, each with what ends with it.
#[derive(Debug)]
pub(crate) enum Role {
    /// The first look, and what follows from it, is not over. With the term that this life has claimed: a row of a former
    /// life names this node too.
    Starting(Option<u64>),
    /// It has no successor, and asks for one.
    Joining(Plea),
    /// It has one.
    Member(Membership),
}

impl Role {
    pub(crate) const fn state(&self) -> State {
        match self {
            Self::Starting(_) => State::Starting,
            Self::Joining(_) => State::Joining,
            Self::Member(member) => match member.link {
                Link::Failed(..) => State::Recovering,
                _ => State::Member,
            },
        }
    }

    pub(crate) const fn member(&self) -> Option<&Membership> {
        match self {
            Self::Member(member) => Some(member),
            _ => None,
        }
    }

    pub(crate) const fn member_mut(&mut self) -> Option<&mut Membership> {
        match self {
            Self::Member(member) => Some(member),
            _ => None,
        }
    }

    /// The request that goes on.
    pub(crate) const fn plea_mut(&mut self) -> Option<&mut Plea> {
        match self {
            Self::Joining(plea)
            | Self::Member(Membership {
                link: Link::Failed(_, plea),
                ..
            }) => Some(plea),
            _ => None,
        }
    }

    pub(crate) const fn plea(&self) -> Option<&Plea> {
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
    pub(crate) const fn failed(&self) -> Option<u32> {
        match self {
            Self::Member(Membership {
                link: Link::Failed(id, _),
                ..
            }) => Some(*id),
            _ => None,
        }
    }
}
