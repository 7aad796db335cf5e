//! The four states, each with its data.

use ring_codec::lab2::Token;

use super::{Offer, PendingAck, Tenure};
use crate::lab2::State;
use crate::lab2::election::Search;

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "a machine has only one role, and a boxed tenure would need an allocation per hop"
)]
pub(crate) enum Role {
    Owner(Tenure),
    /// A WAITER. If the last token of a WAITER moved on before the WAITER acknowledged it, the WAITER still owes an
    /// acknowledgement.
    Waiter(Option<PendingAck>),
    Looser(Search),
    /// A candidate. The node stands for election with this token.
    Generating(Token),
}

impl Role {
    pub(crate) const fn state(&self) -> State {
        match self {
            Self::Owner(_) => State::Owner,
            Self::Waiter(_) => State::Waiter,
            Self::Looser(_) => State::Looser,
            Self::Generating(_) => State::Generating,
        }
    }

    pub(crate) const fn tenure(&self) -> Option<&Tenure> {
        match self {
            Self::Owner(tenure) => Some(tenure),
            _ => None,
        }
    }

    pub(crate) const fn tenure_mut(&mut self) -> Option<&mut Tenure> {
        match self {
            Self::Owner(tenure) => Some(tenure),
            _ => None,
        }
    }

    /// Returns the tenure. Returns `None` while the token is offered to a successor.
    pub(crate) fn unoffered_tenure(&self) -> Option<&Tenure> {
        self.tenure().filter(|tenure| tenure.offer().is_none())
    }

    /// Returns the offer to another member.
    pub(crate) fn offer(&self) -> Option<Offer> {
        self.tenure().and_then(Tenure::offer)
    }

    pub(crate) const fn search_mut(&mut self) -> Option<&mut Search> {
        match self {
            Self::Looser(search) => Some(search),
            _ => None,
        }
    }

    pub(crate) const fn candidate(&self) -> Option<Token> {
        match self {
            Self::Generating(candidate) => Some(*candidate),
            _ => None,
        }
    }

    /// Returns the acknowledgement that the previous holder waits for.
    pub(crate) fn pending_ack(&self) -> Option<PendingAck> {
        match self {
            Self::Owner(tenure) => tenure.owed_ack(),
            Self::Waiter(owed) => *owed,
            // A node without an owner has given up the token that it would acknowledge.
            Self::Looser(_) | Self::Generating(_) => None,
        }
    }

    /// Removes and returns the acknowledgement that this node still owes the previous holder.
    pub(crate) fn take_unacknowledged(&mut self) -> Option<PendingAck> {
        let owed = self.pending_ack();
        match self {
            Self::Owner(tenure) => tenure.note_acknowledged(),
            Self::Waiter(owed) => *owed = None,
            Self::Looser(_) | Self::Generating(_) => {}
        }
        owed
    }
}
