//! What a node that holds the token remembers of it: who is to be told that it came, whom it is offered to, and when it
//! goes on. And for which reasons a node holds none.

mod ack;
mod fitness;
mod handover;
mod role;
mod snapshot;
mod wish;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

pub(crate) use ack::{Departure, Objections, Owed};
pub(crate) use fitness::Fitness;
pub(crate) use handover::{Offer, OfferSent};
pub(crate) use role::Role;
pub(crate) use wish::Wish;

use super::machine::Context;
use crate::time::Instant;
use ack::Ack;
use handover::{Failing, Refusals, Unsent};

/// What an OWNER holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenure {
    token: Token,
    /// The strongest token that was known when this one was taken; `None` if it was made here.
    known_before: Option<Token>,
    /// Who had it before; `None` if it was made here.
    giver: Option<MacAddr>,
    /// Whether its taking was acknowledged in time.
    ack: Ack,
    /// The previous holder, while it waits for an acknowledgement.
    unacknowledged: Option<MacAddr>,
    /// When the token goes on if there is no work for it then. Work does not put it off: who does not hear
    /// that others want the token would keep it as long as somebody here works again and again.
    rests_until: Instant,
    /// A program may have worked under the token, here or at an earlier holder.
    is_used: bool,
    /// The progress that it is offered with, once that was decided.
    next_progress: Option<u64>,
    /// The TAKE_TOKEN that could not be sent.
    unsent: Option<Unsent>,
    /// From the first TAKE_TOKEN to the end of the hand-over.
    offer: Option<Offer>,
    /// The member that was offered the token before its turn, since it was passed over.
    ahead: Option<MacAddr>,
    /// After whom a round goes on that waits for objections.
    interrupted: Option<MacAddr>,
    /// Hand-overs that have failed in a row.
    failing: Option<Failing>,
    /// Hand-overs that have failed since one has not, or an author was there again.
    refusals: Option<Refusals>,
}

impl Tenure {
    /// That of a token which was made here.
    pub(crate) const fn of_own(token: Token) -> Self {
        Self {
            token,
            known_before: None,
            giver: None,
            ack: Ack::Settled,
            unacknowledged: None,
            rests_until: Instant::from_nanos(0),
            is_used: false,
            next_progress: None,
            unsent: None,
            offer: None,
            ahead: None,
            interrupted: None,
            failing: None,
            refusals: None,
        }
    }

    /// That of a token which was taken from its previous holder.
    pub(crate) const fn of_taken(
        token: Token,
        known_before: Option<Token>,
        giver: MacAddr,
        answered_by: Instant,
    ) -> Self {
        Self {
            known_before,
            giver: Some(giver),
            ack: Ack::Due(answered_by),
            unacknowledged: Some(giver),
            is_used: true,
            ..Self::of_own(token)
        }
    }

    /// It begins: the token rests for IDLE_HOLD, or there is work for it.
    pub(crate) fn begun(self, context: &Context, wanted: bool) -> Self {
        Self {
            rests_until: context.now() + context.constants().idle_hold,
            is_used: self.is_used || wanted,
            ..self
        }
    }

    /// It goes on with a token that was made here, and that has been offered to nobody.
    pub(crate) fn renewed(&self, context: &Context, token: Token) -> Self {
        Self {
            giver: self.giver,
            ack: self.ack.outlived(context),
            unacknowledged: self.unacknowledged,
            rests_until: self.rests_until,
            is_used: self.is_used,
            failing: self.failing,
            refusals: self.refusals,
            ..Self::of_own(token)
        }
    }

    pub(crate) const fn token(&self) -> Token {
        self.token
    }

    /// The strongest token that was known when this one was taken; `None` if it was made here.
    pub(crate) const fn known_before(&self) -> Option<Token> {
        self.known_before
    }

    /// Whether a program may have worked under the token, here or at an earlier holder.
    pub(crate) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// A program works under the token.
    pub(crate) fn begin_use(&mut self) {
        self.is_used = true;
    }

    pub(crate) const fn rests_until(&self) -> Instant {
        self.rests_until
    }

    /// The token rests until then.
    pub(crate) fn rest_until(&mut self, at: Instant) {
        self.rests_until = at;
    }
}
