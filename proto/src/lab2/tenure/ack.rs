//! Acknowledgement of a taken token, and tokens that were acknowledged too late.
//!
//! A giver that hears of the acknowledgement too late may have given this node up and minted. So the owner is unsure:
//! it broadcasts that it holds the token, and a member that knows a stronger token objects.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::Tenure;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// State of the first acknowledgement of a taken token.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ack {
    /// It left in time, or none is needed.
    Settled,
    /// It must leave by this time, as TOKEN_IS_HERE to the giver or to all. After that the giver may have given this
    /// node up.
    Due(Instant),
    /// The link has accepted it. It is not known yet whether it left in time.
    Sent(Instant),
    /// It left too late or not at all: another node may hold a newer token, and no program relies on this one.
    Unsure(Announcement),
}

/// State of the broadcast that lets the members object to an unsure token.
#[derive(Debug, Clone, Copy)]
pub(super) enum Announcement {
    Pending,
    /// The link has accepted the broadcast. It is not known yet when it left.
    Accepted,
    /// The broadcast had left by this time.
    Left(Instant),
}

/// An acknowledgement that was put off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingAck {
    to: MacAddr,
    /// The latest time for it; `None` if the giver was told already.
    by: Option<Instant>,
}

/// The effect of the report that all sent frames have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlushEffect {
    Nothing,
    /// The owner is unsure from now on. Holds the delay of the acknowledgement.
    Late(Duration),
    /// All members were told that an unsure owner holds the token.
    AnnouncementLeft,
}

/// State of the time in which members may object to an unsure token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectionPeriod {
    Over,
    Until(Instant),
    /// The members were not told yet.
    NotStarted,
}

impl PendingAck {
    pub(crate) const fn to(&self) -> MacAddr {
        self.to
    }

    /// Returns by how much it is late.
    pub(crate) fn lateness(&self, now: Instant) -> Duration {
        self.by.map_or(Duration::ZERO, |by| now.since(by))
    }
}

impl Ack {
    /// Returns the state after the token was replaced by a minted one, which no member has heard of. The giver of the
    /// old token still waits.
    pub(super) fn after_minting(self, context: &Context) -> Self {
        let objected = context.constants().objection_period();
        match self {
            Self::Unsure(Announcement::Left(left)) if left + objected <= context.now() => {
                Self::Settled
            }
            // The members know only the old token, so the minted one must be announced as well.
            Self::Unsure(_) => Self::Unsure(Announcement::Pending),
            Self::Settled | Self::Due(_) | Self::Sent(_) => self,
        }
    }
}

impl Tenure {
    /// Returns the acknowledgement that the previous holder waits for.
    pub(super) fn owed(&self) -> Option<PendingAck> {
        let by = match self.ack {
            Ack::Due(by) | Ack::Sent(by) => Some(by),
            Ack::Settled | Ack::Unsure(_) => None,
        };
        self.unacknowledged.map(|to| PendingAck { to, by })
    }

    /// Notes that the previous holder was told.
    pub(crate) fn note_acknowledged(&mut self) {
        self.unacknowledged = None;
    }

    /// Handles the outcome of a frame that tells the giver, sent to it or to all. Returns whether the owner is unsure
    /// from now on, because the giver could not be told.
    pub(crate) fn on_ack_sent(&mut self, to: MacAddr, accepted: bool) -> bool {
        let Ack::Due(by) = self.ack else {
            return false;
        };
        // A broadcast TOKEN_IS_HERE tells the giver as well.
        let is_giver = self.giver == Some(to);
        if accepted && (is_giver || to == MacAddr::BROADCAST) {
            self.ack = Ack::Sent(by);
        } else if is_giver {
            self.ack = Ack::Unsure(Announcement::Pending);
        }
        matches!(self.ack, Ack::Unsure(_))
    }

    /// Whether the time matters at which the last frames left.
    pub(crate) fn awaits_flush(&self) -> bool {
        matches!(self.ack, Ack::Sent(_) | Ack::Unsure(Announcement::Accepted))
            || self.offer.is_some_and(|offer| offer.awaits_flush)
    }

    /// Handles the report that all sent frames have left.
    pub(crate) fn on_flushed(&mut self, context: &Context) -> FlushEffect {
        let now = context.now();
        match self.ack {
            // The giver waits for TAKE_TIMEOUT, and may have minted after that.
            Ack::Due(by) | Ack::Sent(by) if by < now => {
                self.ack = Ack::Unsure(Announcement::Pending);
                FlushEffect::Late(now.since(by))
            }
            Ack::Unsure(Announcement::Accepted) => {
                self.ack = Ack::Unsure(Announcement::Left(now));
                FlushEffect::AnnouncementLeft
            }
            Ack::Sent(_) => {
                self.ack = Ack::Settled;
                FlushEffect::Nothing
            }
            Ack::Settled | Ack::Due(_) | Ack::Unsure(_) => FlushEffect::Nothing,
        }
    }

    /// Notes that the link has accepted a broadcast TOKEN_IS_HERE.
    pub(crate) fn on_announced(&mut self) {
        if let Ack::Unsure(announcement @ Announcement::Pending) = &mut self.ack {
            *announcement = Announcement::Accepted;
        }
    }

    /// Whether the owner is unsure of the token, or was and no member has objected.
    pub(crate) const fn is_unsure(&self) -> bool {
        matches!(self.ack, Ack::Unsure(_))
    }

    /// Extends the hold of the token for work that waits here: IDLE_HOLD counts from the end of the unsure time.
    pub(crate) fn extend_hold_for_work(&mut self, context: &Context) {
        let constants = context.constants();
        let sure_at = context.now() + constants.objection_period();
        self.hold_until = self.hold_until.max(sure_at + constants.idle_hold);
    }

    /// Returns until when the token must not be offered.
    pub(crate) fn objections(&self, context: &Context) -> ObjectionPeriod {
        // A successor would be sure of the token, and would not listen to objections.
        let left = match self.ack {
            Ack::Unsure(Announcement::Left(left)) => left,
            Ack::Unsure(_) => return ObjectionPeriod::NotStarted,
            Ack::Settled | Ack::Due(_) | Ack::Sent(_) => return ObjectionPeriod::Over,
        };
        // An objection needs one way there and back.
        let answered = left + context.constants().take_timeout;
        if answered <= context.now() {
            ObjectionPeriod::Over
        } else {
            ObjectionPeriod::Until(answered)
        }
    }

    /// Returns until when, at least, no program relies on the token; `None` if one may now.
    pub(crate) fn unsettled_until(&self, context: &Context) -> Option<Instant> {
        let since = match self.ack {
            Ack::Settled => return None,
            Ack::Unsure(Announcement::Left(left)) => left,
            Ack::Due(_) | Ack::Sent(_) | Ack::Unsure(_) => context.now(),
        };
        Some(since + context.constants().objection_period())
    }

    /// Whether the giver minted the stronger token to replace this one. Then it is the right one.
    pub(crate) fn is_replaced_by(&self, context: &Context, other: Token) -> bool {
        // The giver minted because this node was too late, so its chain is the right one. Any other token that a member
        // objects with has not been heard of for a while.
        let is_unsure = self.is_unsure() && self.unsettled_until(context) > Some(context.now());
        let is_the_givers = self.giver == Some(other.author);
        is_unsure
            && is_the_givers
            && other.is_stronger_than(&self.token)
            && !other.same_chain(&self.token)
    }
}
