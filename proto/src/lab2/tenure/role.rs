//! The four states with what belongs to each.

use ring_codec::lab2::Token;

use super::{Offer, Owed, Tenure};
use crate::lab2::State;
use crate::lab2::election::Search;

#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "a machine has one, in its place: a tenure in a box would be an allocation a hop"
)]
pub(crate) enum Role {
    Owner(Tenure),
    /// With the acknowledgement that the previous holder of its last token waits for: the token has gone on before it was
    /// due.
    Waiter(Option<Owed>),
    Looser(Search),
    /// With the candidate.
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

    /// The tenure, unless its token is offered to another.
    pub(crate) fn unoffered(&self) -> Option<&Tenure> {
        self.tenure().filter(|tenure| tenure.offer().is_none())
    }

    /// The token that is offered to another.
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

    /// The acknowledgement that somebody waits for of what it has handed over.
    pub(crate) fn unacknowledged(&self) -> Option<Owed> {
        match self {
            Self::Owner(tenure) => tenure.owed(),
            Self::Waiter(owed) => *owed,
            Self::Looser(_) | Self::Generating(_) => None,
        }
    }

    /// Takes the acknowledgement, for which nobody waits any longer.
    pub(crate) fn take_unacknowledged(&mut self) -> Option<Owed> {
        let owed = self.unacknowledged();
        match self {
            Self::Owner(tenure) => tenure.note_acknowledged(),
            Self::Waiter(owed) => *owed = None,
            Self::Looser(_) | Self::Generating(_) => {}
        }
        owed
    }
}
