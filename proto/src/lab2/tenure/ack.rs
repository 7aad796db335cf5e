//! A token that was taken too late: its giver may have given this node up before it heard of it, and minted.
//!
//! Nobody relies on a token before its giver has been told in time that it was taken. Where that came too late
//! the owner is unsure: it tells all that it holds the token, and whoever knows a stronger one objects.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::Tenure;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// The first acknowledgement of an offer that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ack {
    /// It has left in time, or none is asked for.
    Settled,
    /// It, or what tells the giver as well, is to leave by then: its giver may have given this node up after
    /// that.
    Due(Instant),
    /// It was accepted for sending; when it has left is not known yet.
    Sent(Instant),
    /// It left too late, or not at all: the token may be outdated, and nobody relies on it.
    Unsure(Announced),
}

/// Whether the others know who holds a token that its owner is unsure of, so that they may object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Announced {
    No,
    /// The broadcast was accepted for sending; when it has left is not known yet.
    Leaving,
    /// It had left by then.
    At(Instant),
}

/// An acknowledgement that was put off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owed {
    to: MacAddr,
    /// After that it is too late; `None`: it was told otherwise before.
    by: Option<Instant>,
}

/// What follows when the frames have left that were sent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Departure {
    Nothing,
    /// The owner is unsure from now on: the giver was told so much too late.
    Late(Duration),
    /// All have been told that an owner that is unsure holds the token.
    AllTold,
}

/// Until when members may object to a token of which its owner is unsure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objections {
    Over,
    Until(Instant),
    /// They have not been told yet.
    NotYet,
}

impl Owed {
    pub(crate) const fn to(&self) -> MacAddr {
        self.to
    }

    /// How much too late it is.
    pub(crate) fn late(&self, now: Instant) -> Duration {
        self.by.map_or(Duration::ZERO, |by| now.since(by))
    }
}

impl Ack {
    /// What is left of it when the token is replaced by one that was made here, of which nobody has heard yet. The
    /// giver of the one before waits as ever.
    pub(super) fn outlived(self, context: &Context) -> Self {
        let objected = context.constants().objected_within();
        match self {
            Self::Unsure(Announced::At(told)) if told + objected <= context.now() => Self::Settled,
            Self::Unsure(_) => Self::Unsure(Announced::No),
            Self::Settled | Self::Due(_) | Self::Sent(_) => self,
        }
    }
}

impl Tenure {
    /// The acknowledgement that the previous holder waits for.
    pub(super) fn owed(&self) -> Option<Owed> {
        let by = match self.ack {
            Ack::Due(by) | Ack::Sent(by) => Some(by),
            Ack::Settled | Ack::Unsure(_) => None,
        };
        self.unacknowledged.map(|to| Owed { to, by })
    }

    /// The previous holder waits no longer.
    pub(crate) fn note_acknowledged(&mut self) {
        self.unacknowledged = None;
    }

    /// A frame that tells the giver of the token was handed to the link: to it alone, or to all. Returns whether the owner
    /// is unsure from now on, since it could not be told.
    pub(crate) fn on_ack_sent(&mut self, to: MacAddr, accepted: bool) -> bool {
        let Ack::Due(by) = self.ack else {
            return false;
        };
        let is_giver = self.giver == Some(to);
        if accepted && (is_giver || to == MacAddr::BROADCAST) {
            self.ack = Ack::Sent(by);
        } else if is_giver {
            self.ack = Ack::Unsure(Announced::No);
        }
        matches!(self.ack, Ack::Unsure(_))
    }

    /// Whether it matters by when the frames have left that were sent last.
    pub(crate) fn awaits_departure(&self) -> bool {
        matches!(self.ack, Ack::Sent(_) | Ack::Unsure(Announced::Leaving))
            || self.offer.is_some_and(|offer| offer.departs)
    }

    /// All frames that were sent have left by now.
    pub(crate) fn on_departed(&mut self, context: &Context) -> Departure {
        let now = context.now();
        match self.ack {
            Ack::Due(by) | Ack::Sent(by) if by < now => {
                self.ack = Ack::Unsure(Announced::No);
                Departure::Late(now.since(by))
            }
            Ack::Unsure(Announced::Leaving) => {
                self.ack = Ack::Unsure(Announced::At(now));
                Departure::AllTold
            }
            Ack::Sent(_) => {
                self.ack = Ack::Settled;
                Departure::Nothing
            }
            Ack::Settled | Ack::Due(_) | Ack::Unsure(_) => Departure::Nothing,
        }
    }

    /// What tells all that this node holds the token was accepted for sending.
    pub(crate) fn on_announced(&mut self) {
        if let Ack::Unsure(told @ Announced::No) = &mut self.ack {
            *told = Announced::Leaving;
        }
    }

    /// Whether the owner is unsure of the token, or was and has heard no objection.
    pub(crate) const fn is_unsure(&self) -> bool {
        matches!(self.ack, Ack::Unsure(_))
    }

    /// For work that waits here the token rests for as long as the others may object, and its IDLE_HOLD.
    pub(crate) fn rest_for_work(&mut self, context: &Context) {
        let constants = context.constants();
        let sure_at = context.now() + constants.objected_within();
        self.rests_until = self.rests_until.max(sure_at + constants.idle_hold);
    }

    /// Until when the token must not go to another, who would be sure of it.
    pub(crate) fn objections(&self, context: &Context) -> Objections {
        let told = match self.ack {
            Ack::Unsure(Announced::At(told)) => told,
            Ack::Unsure(_) => return Objections::NotYet,
            Ack::Settled | Ack::Due(_) | Ack::Sent(_) => return Objections::Over,
        };
        let answered = told + context.constants().take_timeout;
        if answered <= context.now() {
            Objections::Over
        } else {
            Objections::Until(answered)
        }
    }

    /// Until when at least nobody relies on the token; `None` if somebody may.
    pub(crate) fn unsettled_until(&self, context: &Context) -> Option<Instant> {
        let since = match self.ack {
            Ack::Settled => return None,
            Ack::Unsure(Announced::At(told)) => told,
            Ack::Due(_) | Ack::Sent(_) | Ack::Unsure(_) => context.now(),
        };
        Some(since + context.constants().objected_within())
    }

    /// Whether the stronger token is the one that the giver has minted in place of this one: it is right. Any
    /// other that somebody objects with has not been heard of for a while.
    pub(crate) fn gives_way(&self, context: &Context, other: Token) -> bool {
        let is_unsure = self.is_unsure() && self.unsettled_until(context) > Some(context.now());
        let is_the_givers = self.giver == Some(other.author);
        is_unsure
            && is_the_givers
            && other.is_stronger_than(&self.token)
            && !other.same_chain(&self.token)
    }
}
