//! What a node is (`docs/board.md`, sections 4 to 6).

use super::membership::Membership;
use super::peer::Peer;
use super::plea::Plea;
use crate::StreamId;
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
            Self::Member(member) if member.failed().is_some() => State::Recovering,
            Self::Member(_) => State::Member,
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

    /// The successor, while the connection to it stands.
    pub(crate) fn successor(&self) -> Option<&Peer> {
        self.member().and_then(Membership::successor)
    }

    pub(crate) fn successor_mut(&mut self) -> Option<&mut Peer> {
        self.member_mut().and_then(Membership::successor_mut)
    }

    /// The connection to the successor, up or being opened.
    pub(crate) fn stream(&self) -> Option<StreamId> {
        self.member().and_then(Membership::stream)
    }

    /// The request that goes on.
    pub(crate) fn plea(&self) -> Option<&Plea> {
        match self {
            Self::Starting(_) => None,
            Self::Joining(plea) => Some(plea),
            Self::Member(member) => member.failed().map(|(_, plea)| plea),
        }
    }

    pub(crate) const fn plea_mut(&mut self) -> Option<&mut Plea> {
        match self {
            Self::Starting(_) => None,
            Self::Joining(plea) => Some(plea),
            Self::Member(member) => member.plea_mut(),
        }
    }

    /// The successor that has failed.
    pub(crate) fn failed(&self) -> Option<u32> {
        self.member()?.failed().map(|(id, _)| id)
    }
}
