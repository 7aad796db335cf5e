//! The four states with their data. An OWNER's [`Tenure`] knows the token, its giver, the offer to a successor and the
//! acknowledgement. [`Fitness`] holds the reasons for which a node must not own the token. Start with `role`.

mod ack;
mod fitness;
mod handover;
mod local_work;
mod role;
mod snapshot;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

pub(crate) use ack::{FlushEffect, ObjectionPeriod, PendingAck};
pub(crate) use fitness::Fitness;
pub(crate) use handover::{Offer, OfferOutcome};
pub(crate) use local_work::LocalWork;
pub(crate) use role::Role;

use super::machine::Context;
use crate::time::Instant;
use ack::Ack;
use handover::{FailedOffers, FailureStreak, UnsentOffer};

/// An OWNER's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenure {
    token: Token,
    /// The strongest token that was known before this one was taken; `None` if it was minted here.
    known_before: Option<Token>,
    /// The previous holder; `None` if the token was minted here.
    giver: Option<MacAddr>,
    ack: Ack,
    /// The previous holder, while it waits for an acknowledgement.
    unacknowledged: Option<MacAddr>,
    /// When the token goes on if no program works then. Work does not extend it: an OWNER that does not hear the
    /// others' WANT_TOKEN would otherwise keep the token as long as programs here work again and again.
    hold_until: Instant,
    /// Whether a program may have worked under the token, here or at an earlier holder.
    is_used: bool,
    /// The progress of the next offer, once it was decided.
    next_progress: Option<u64>,
    /// The TAKE_TOKEN that the interface did not send.
    unsent_offer: Option<UnsentOffer>,
    /// The handover in progress, from the first TAKE_TOKEN on.
    offer: Option<Offer>,
    /// The member that was passed over by others, and so is offered the token before its turn.
    passed_over: Option<MacAddr>,
    /// The member after which a round goes on that waits for objections.
    interrupted_round: Option<MacAddr>,
    /// Consecutive failed handovers.
    failure_streak: Option<FailureStreak>,
    /// Failed handovers since the last success, or since a member came back.
    failed_offers: Option<FailedOffers>,
}

impl Tenure {
    /// Creates the tenure of a token that was minted here.
    pub(crate) const fn from_minted(token: Token) -> Self {
        Self {
            token,
            known_before: None,
            giver: None,
            ack: Ack::Settled,
            unacknowledged: None,
            hold_until: Instant::from_nanos(0),
            is_used: false,
            next_progress: None,
            unsent_offer: None,
            offer: None,
            passed_over: None,
            interrupted_round: None,
            failure_streak: None,
            failed_offers: None,
        }
    }

    /// Creates the tenure of a token that was taken from its previous holder.
    pub(crate) const fn from_offer(
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
            // An earlier holder's program may have worked under it.
            is_used: true,
            ..Self::from_minted(token)
        }
    }

    /// Starts the tenure: the hold of IDLE_HOLD begins.
    pub(crate) fn begin(self, context: &Context, wanted: bool) -> Self {
        Self {
            hold_until: context.now() + context.constants().idle_hold,
            is_used: self.is_used || wanted,
            ..self
        }
    }

    /// Continues the tenure with a token that was minted here and was offered to no member.
    pub(crate) fn with_token(&self, context: &Context, token: Token) -> Self {
        Self {
            giver: self.giver,
            ack: self.ack.after_minting(context),
            unacknowledged: self.unacknowledged,
            // A minted token does not get another IDLE_HOLD: members wait for it.
            hold_until: self.hold_until,
            is_used: self.is_used,
            failure_streak: self.failure_streak,
            failed_offers: self.failed_offers,
            ..Self::from_minted(token)
        }
    }

    pub(crate) const fn token(&self) -> Token {
        self.token
    }

    /// Returns the strongest token that was known before this one was taken; `None` if it was minted here.
    pub(crate) const fn known_before(&self) -> Option<Token> {
        self.known_before
    }

    pub(crate) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// Notes that a program works under the token.
    pub(crate) fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(crate) const fn hold_until(&self) -> Instant {
        self.hold_until
    }

    /// Holds the token until this time.
    pub(crate) fn set_hold_until(&mut self, at: Instant) {
        self.hold_until = at;
    }
}
