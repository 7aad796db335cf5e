//! The four states of a node, and the data of each state. A [`Tenure`] contains an OWNER's token, the giver of the
//! token, the offer to a successor, and the state of the acknowledgement. The type [`Fitness`] holds the reasons why a
//! node must not own the token. Start with `role`.

mod ack;
mod fitness;
mod handover;
mod local_work;
mod role;
mod snapshot;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

pub(crate) use ack::{FlushEffect, ObjectionPeriod, PendingAck};
pub(crate) use fitness::Fitness;
pub(crate) use handover::{Offer, OfferOutcome};
pub(crate) use local_work::LocalWork;
pub(crate) use role::Role;

use super::machine::Context;
use crate::time::{Instant, nanos};
use ack::Ack;
use handover::{FailedOffers, FailureStreak, UnsentOffer};

/// The data of an OWNER.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tenure {
    token: Token,
    /// The strongest token that this node knew before it took `token`. The known token is `None` if this node minted
    /// `token`.
    known_before: Option<Token>,
    /// The previous holder. The giver is `None` if this node minted the token.
    giver: Option<MacAddr>,
    ack: Ack,
    /// The previous holder, if this node still owes this holder an acknowledgement.
    unacknowledged: Option<MacAddr>,
    /// After this time, this node hands the token over if no program on it works. Work does not change this time. If
    /// work extended this time, an OWNER that hears no WANT_TOKEN would keep the token as long as its programs always
    /// find new work.
    hold_until: Instant,
    /// The IDLE_HOLD that determined `hold_until`, in nanoseconds.
    idle_hold: u64,
    /// Whether a program may have worked with the token, on this node or on an earlier holder.
    is_used: bool,
    /// The progress of the token in the next offer. The progress is `None` if it is undecided.
    next_progress: Option<u64>,
    /// The last TAKE_TOKEN, if the interface did not send it.
    unsent_offer: Option<UnsentOffer>,
    /// The handover in progress. A handover begins when the link accepts the first TAKE_TOKEN.
    offer: Option<Offer>,
    /// A member that the giver passed over. This node offers the token to the passed-over member before the turn of
    /// that member.
    passed_over: Option<MacAddr>,
    /// The member after which an interrupted round continues. Rounds are interrupted to wait for objections.
    interrupted_round: Option<MacAddr>,
    /// Consecutive failed handovers.
    failure_streak: Option<FailureStreak>,
    /// The failed handovers since the last success, or since the return of a member.
    failed_offers: Option<FailedOffers>,
}

impl Tenure {
    /// Creates the tenure of a token that this node minted.
    pub(crate) const fn from_minted(token: Token) -> Self {
        Self {
            token,
            known_before: None,
            giver: None,
            ack: Ack::Settled,
            unacknowledged: None,
            hold_until: Instant::from_nanos(0),
            idle_hold: 0,
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

    /// Creates the tenure of a token that this node took from `giver`.
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
            // A program of an earlier holder may have worked under the token.
            is_used: true,
            ..Self::from_minted(token)
        }
    }

    /// Starts the tenure and its IDLE_HOLD.
    pub(crate) fn begin(self, context: &Context, idle_hold: Duration, wanted: bool) -> Self {
        Self {
            hold_until: context.now() + idle_hold,
            idle_hold: nanos(idle_hold),
            is_used: self.is_used || wanted,
            ..self
        }
    }

    /// Continues the tenure under a token that this node has minted. The minted token has not been offered to any
    /// member.
    pub(crate) fn with_token(&self, context: &Context, token: Token) -> Self {
        Self {
            // The giver of the replaced token may still wait for its acknowledgement, and may have minted a token
            // itself.
            giver: self.giver,
            ack: self.ack.after_minting(context),
            unacknowledged: self.unacknowledged,
            // A minted token gets no new IDLE_HOLD, because members may be waiting for the token.
            hold_until: self.hold_until,
            idle_hold: self.idle_hold,
            is_used: self.is_used,
            // Each failed handover mints a token, so the counts of failures must survive it.
            failure_streak: self.failure_streak,
            failed_offers: self.failed_offers,
            ..Self::from_minted(token)
        }
    }

    pub(crate) const fn token(&self) -> Token {
        self.token
    }

    /// Returns the strongest token that this node knew before it took the held token. Returns `None` if this node
    /// minted the held token.
    pub(crate) const fn known_before(&self) -> Option<Token> {
        self.known_before
    }

    pub(crate) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// Notes that a program on this node relies on the token.
    pub(crate) fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(crate) const fn hold_until(&self) -> Instant {
        self.hold_until
    }

    /// Whether this IDLE_HOLD determined the time until which this node keeps the token.
    pub(crate) fn has_idle_hold(&self, idle_hold: Duration) -> bool {
        self.idle_hold == nanos(idle_hold)
    }

    /// Begins an IDLE_HOLD that lasts until this time.
    pub(crate) fn restart_hold(&mut self, idle_hold: Duration, until: Instant) {
        (self.idle_hold, self.hold_until) = (nanos(idle_hold), until);
    }
}
