//! The acknowledgement of a taken token, and the rules for a late acknowledgement.
//!
//! If the acknowledgement is late, the giver may have given this node up and minted a new token. After a late
//! acknowledgement, this node is unsure of its token. An unsure owner broadcasts that it holds the token. Then every
//! member that knows a stronger token objects.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::Tenure;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// The state of the first acknowledgement of a taken token.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) enum Ack {
    /// The acknowledgement left in time, or the token needs no acknowledgement.
    Settled,
    /// The acknowledgement must leave by this time. The acknowledgement is a TOKEN_IS_HERE to the giver or to all
    /// members. After this deadline, the giver may have given this node up.
    Due(Instant),
    /// The link accepted the acknowledgement. It is unknown whether the acknowledgement left by this time.
    Sent(Instant),
    /// The acknowledgement left too late or not at all. Another node may hold a newer token, so no program may rely on
    /// the token of this node.
    Unsure(Announcement),
}

/// The state of the broadcast in which an unsure owner announces its token. Members can object to this token.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) enum Announcement {
    Pending,
    /// The link accepted the broadcast. It is unknown when the broadcast left.
    Accepted,
    /// At this time, the broadcast had already left the host.
    Left(Instant),
}

/// An acknowledgement that this node still owes.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct PendingAck {
    to: MacAddr,
    /// The time by which the acknowledgement must leave. The time is `None` if it is already known whether an
    /// acknowledgement left in time.
    by: Option<Instant>,
}

/// The effect of the report that all sent frames left the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlushEffect {
    Nothing,
    /// The acknowledgement left too late. The duration is the delay of the acknowledgement. From now on, the owner is
    /// unsure of its token.
    Late(Duration),
    /// The broadcast of an unsure owner's token left the host.
    AnnouncementLeft,
}

/// The state of the period in which members may object, after an unsure owner announced its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectionPeriod {
    Over,
    Until(Instant),
    /// The announcement has not left the host.
    NotStarted,
}

impl PendingAck {
    pub(crate) const fn to(&self) -> MacAddr {
        self.to
    }

    /// Returns the delay of the acknowledgement at the time `now`.
    pub(crate) fn lateness(&self, now: Instant) -> Duration {
        self.by.map_or(Duration::ZERO, |by| now.since(by))
    }
}

impl Ack {
    /// Returns the new state of the acknowledgement after this node mints a token that replaces the taken token. The
    /// giver still waits for the acknowledgement of the taken token.
    pub(super) fn after_minting(self, context: &Context) -> Self {
        let objected = context.constants().objection_period();
        match self {
            // The members had time to object to the old token and did not, so they will not object to the minted token.
            Self::Unsure(Announcement::Left(left)) if left + objected <= context.now() => {
                Self::Settled
            }
            // The members know only the old token, so this node must announce the minted token as well.
            Self::Unsure(_) => Self::Unsure(Announcement::Pending),
            Self::Settled | Self::Due(_) | Self::Sent(_) => self,
        }
    }
}

impl Tenure {
    /// If this node owes the previous holder an acknowledgement, returns it.
    pub(super) fn owed_ack(&self) -> Option<PendingAck> {
        let by = match self.ack {
            Ack::Due(by) | Ack::Sent(by) => Some(by),
            Ack::Settled | Ack::Unsure(_) => None,
        };
        self.unacknowledged.map(|to| PendingAck { to, by })
    }

    /// Notes that this node no longer owes the previous holder an acknowledgement.
    pub(crate) fn note_acknowledged(&mut self) {
        self.unacknowledged = None;
    }

    /// Handles the outcome of an acknowledgement that was sent to the giver or to all members. Returns whether the
    /// owner is unsure now, because the frame could not be sent to the giver.
    pub(crate) fn on_ack_sent(&mut self, to: MacAddr, accepted: bool) -> bool {
        let Ack::Due(by) = self.ack else {
            return false;
        };
        // A broadcast TOKEN_IS_HERE informs the giver too.
        let is_giver = self.giver == Some(to);
        if accepted && (is_giver || to == MacAddr::BROADCAST) {
            self.ack = Ack::Sent(by);
        // A failed broadcast changes nothing, because it is repeated, and the giver may still get a unicast in time.
        } else if is_giver {
            self.ack = Ack::Unsure(Announcement::Pending);
        }
        matches!(self.ack, Ack::Unsure(_))
    }

    /// Whether this node needs a report that its last frames left the host.
    pub(crate) fn awaits_flush(&self) -> bool {
        matches!(self.ack, Ack::Sent(_) | Ack::Unsure(Announcement::Accepted))
            || self.offer.is_some_and(|offer| offer.awaits_flush)
    }

    /// Handles the report that all sent frames left the host.
    pub(crate) fn on_flushed(&mut self, context: &Context) -> FlushEffect {
        let now = context.now();
        match self.ack {
            // After this time, the giver may have given this node up and minted a new token.
            Ack::Due(by) | Ack::Sent(by) if by < now => {
                self.ack = Ack::Unsure(Announcement::Pending);
                FlushEffect::Late(now.since(by))
            }
            Ack::Unsure(Announcement::Accepted) => {
                // The time counts from here, because the frame may have left long after the link accepted it.
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

    /// Notes that the link accepted a broadcast TOKEN_IS_HERE. The broadcast announces the unsure token of this node.
    pub(crate) fn on_announced(&mut self) {
        if let Ack::Unsure(announcement @ Announcement::Pending) = &mut self.ack {
            *announcement = Announcement::Accepted;
        }
    }

    /// Whether the owner is unsure of its token. Also `true` after the time for objections ended without an objection.
    pub(crate) const fn is_unsure(&self) -> bool {
        matches!(self.ack, Ack::Unsure(_))
    }

    /// Extends this node's hold of the token, because work waits here. While the owner is unsure of its token, no
    /// program may rely on the token. So IDLE_HOLD is measured from the end of the unsure time.
    pub(crate) fn extend_hold_for_work(&mut self, context: &Context, idle_hold: Duration) {
        let sure_at = context.now() + context.constants().objection_period();
        self.hold_until = self.hold_until.max(sure_at + idle_hold);
    }

    /// Returns the period during which members may object to the token. While members may object, the token must not be
    /// offered.
    pub(crate) fn objections(&self, context: &Context) -> ObjectionPeriod {
        // A successor would not know that the token is unsure, and would not wait for objections.
        let left = match self.ack {
            Ack::Unsure(Announcement::Left(left)) => left,
            Ack::Unsure(_) => return ObjectionPeriod::NotStarted,
            Ack::Settled | Ack::Due(_) | Ack::Sent(_) => return ObjectionPeriod::Over,
        };
        // The announcement must reach a member, and the member's objection must come back.
        let answered = left + context.constants().take_timeout;
        if answered <= context.now() {
            ObjectionPeriod::Over
        } else {
            ObjectionPeriod::Until(answered)
        }
    }

    /// Returns the time before which programs must not rely on the token. Returns `None` if the token was acknowledged
    /// in time.
    pub(crate) fn unsettled_until(&self, context: &Context) -> Option<Instant> {
        let since = match self.ack {
            Ack::Settled => return None,
            Ack::Unsure(Announcement::Left(left)) => left,
            // The announcement has not left yet, or is not needed yet. If it is needed, it leaves now at the earliest.
            Ack::Due(_) | Ack::Sent(_) | Ack::Unsure(_) => context.now(),
        };
        Some(since + context.constants().objection_period())
    }

    /// Whether the token was acknowledged, so that members no longer object to it.
    pub(crate) fn is_acknowledged(&self, context: &Context) -> bool {
        let unsettled = self.unsettled_until(context);
        self.unacknowledged.is_none() && unsettled.is_none_or(|until| until <= context.now())
    }

    /// Whether the giver minted the token `other` to replace the token of this node. An owner whose token was replaced
    /// in this way gives way to `other`.
    pub(crate) fn is_replaced_by(&self, context: &Context, other: Token) -> bool {
        // The giver minted because this node was late, so the minted chain counts. If a member objects with a different
        // token, the member has not heard of that token for a while, and it may be lost.
        let is_unsure = self.is_unsure() && self.unsettled_until(context) > Some(context.now());
        let is_the_givers = self.giver == Some(other.author);
        is_unsure
            && is_the_givers
            && other.is_stronger_than(&self.token)
            && !other.same_chain(&self.token)
    }
}
