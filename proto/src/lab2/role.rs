//! The four states with what belongs to each.

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::State;
use crate::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Owner(Tenure),
    Waiter,
    Looser,
    /// With the candidate.
    Generating(Token),
}

impl Role {
    pub(super) const fn state(&self) -> State {
        match self {
            Self::Owner(_) => State::Owner,
            Self::Waiter => State::Waiter,
            Self::Looser => State::Looser,
            Self::Generating(_) => State::Generating,
        }
    }
}

/// What an OWNER holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tenure {
    pub(super) token: Token,
    /// The strongest token that was known when this one was taken; `None` if it was made here.
    pub(super) known_before: Option<Token>,
    /// The progress that it is offered with, once that was decided.
    pub(super) next_progress: Option<u64>,
    /// The TAKE_TOKEN that could not be sent.
    pub(super) unsent: Option<Unsent>,
    /// From the first TAKE_TOKEN to the end of the hand-over.
    pub(super) offer: Option<Offer>,
}

/// An offer that the interface refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsent {
    pub(super) to: MacAddr,
    /// How often in a row.
    pub(super) times: u32,
    /// When it was refused last.
    pub(super) at: Instant,
}

/// A hand-over under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) to: MacAddr,
    pub(super) token: Token,
    /// How many TAKE_TOKEN were accepted for sending.
    pub(super) attempts: u32,
    /// When the first one was.
    pub(super) since: Instant,
}
