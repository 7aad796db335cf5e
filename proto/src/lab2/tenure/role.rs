//! The four states, each with its data.

use ring_codec::lab2::Token;

use super::{Offer, PendingAck, Tenure};
use crate::lab2::State;
use crate::lab2::election::Search;

#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "a machine has one, in its place: a tenure in a box would be an allocation a hop"
)]
pub(crate) enum Role {
    Owner(Tenure),
    /// Holds the acknowledgement of the last token, if the token went on before it was sent.
    Waiter(Option<PendingAck>),
    Looser(Search),
    /// Holds the candidate.
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

    /// Returns the tenure, unless its token is offered.
    pub(crate) fn unoffered(&self) -> Option<&Tenure> {
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
    pub(crate) fn unacknowledged(&self) -> Option<PendingAck> {
        match self {
            Self::Owner(tenure) => tenure.owed(),
            Self::Waiter(owed) => *owed,
            Self::Looser(_) | Self::Generating(_) => None,
        }
    }

    /// Removes and returns the acknowledgement that the previous holder waits for.
    pub(crate) fn take_unacknowledged(&mut self) -> Option<PendingAck> {
        let owed = self.unacknowledged();
        match self {
            Self::Owner(tenure) => tenure.note_acknowledged(),
            Self::Waiter(owed) => *owed = None,
            Self::Looser(_) | Self::Generating(_) => {}
        }
        owed
    }
}
