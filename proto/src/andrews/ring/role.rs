//! The state of a node (`docs/board/protocol/members.md`, rules L and S; `failures.md`, rules F).

use super::membership::Membership;
use super::peer::Peer;
use super::repeated_request::RepeatedRequest;
use crate::StreamId;
use crate::andrews::State;

/// The states. Each state contains the data that the node drops when the node leaves the state.
#[derive(Debug)]
pub(crate) enum Role {
    /// The node has not acted on its first look. The value is the term that this process claimed, or `None` if it
    /// claimed no term. If the row names this node with a different term, an earlier process of this node wrote the
    /// row.
    Starting(Option<u64>),
    /// The node has no successor and requests one.
    Joining(RepeatedRequest),
    /// The node has a successor.
    Member(Membership),
}

impl Role {
    pub(crate) const fn state(&self) -> State {
        match self {
            Self::Starting(_) => State::Starting,
            Self::Joining(_) => State::Joining,
            // A recovering node is still in the ring, so it differs from a member only in its link.
            Self::Member(member) if member.failure().is_some() => State::Recovering,
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

    /// Returns the successor; `None` if the connection to it is down.
    pub(crate) fn successor(&self) -> Option<&Peer> {
        self.member().and_then(Membership::successor)
    }

    pub(crate) fn successor_mut(&mut self) -> Option<&mut Peer> {
        self.member_mut().and_then(Membership::successor_mut)
    }

    /// Returns the connection to the successor, whether it is up or being opened.
    pub(crate) fn stream(&self) -> Option<StreamId> {
        self.member().and_then(Membership::stream)
    }

    /// Returns the request to the coordinator that is being repeated.
    pub(crate) fn repeated_request(&self) -> Option<&RepeatedRequest> {
        match self {
            Self::Starting(_) => None,
            Self::Joining(request) => Some(request),
            Self::Member(member) => member.failure().map(|(_, request)| request),
        }
    }

    pub(crate) const fn repeated_request_mut(&mut self) -> Option<&mut RepeatedRequest> {
        match self {
            Self::Starting(_) => None,
            Self::Joining(request) => Some(request),
            Self::Member(member) => member.repeated_request_mut(),
        }
    }

    pub(crate) fn failed_successor(&self) -> Option<u32> {
        self.member()?.failure().map(|(id, _)| id)
    }
}
