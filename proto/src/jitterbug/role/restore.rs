//! The restore of an orphan (`docs/jitterbug/protocol/restore.md` R2 to R15).
//!
//! The id of each try is the node's token_id. The second try sets a new token_id.

use std::cmp::Ordering;
use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestoreAction {
    Wait,
    /// The node sends the next TR1.
    SendTr1,
    /// The second try begins, with a new id.
    StartSecondTry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestoreStage {
    First,
    Second,
    /// No node has objected.
    Granted,
}

#[derive(Debug)]
pub(crate) struct Restore {
    stage: RestoreStage,
    /// The number of TR1 that the link accepted during this try.
    sent_count: u32,
    /// The time of the next TR1, or the end of the try.
    due: Instant,
    /// The number of this restore, from 1.
    number: u64,
    begun: Instant,
    /// The earliest time at which the restore may be granted.
    earliest: Instant,
}

impl Restore {
    /// Creates a restore. The restore lasts for at least `least`.
    pub(crate) fn new(now: Instant, number: u64, least: Duration) -> Self {
        Self {
            stage: RestoreStage::First,
            sent_count: 0,
            due: now,
            number,
            begun: now,
            earliest: now + least,
        }
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.is_granted()).then_some(self.due)
    }

    pub(crate) fn is_granted(&self) -> bool {
        self.stage == RestoreStage::Granted
    }

    /// If the next step is due, takes it. A late step also delays the later steps. So the node always waits a whole
    /// interval for the answers to a TR1.
    pub(crate) fn take_step(
        &mut self,
        now: Instant,
        count: u32,
        interval: Duration,
    ) -> RestoreAction {
        if self.is_granted() || now < self.due {
            return RestoreAction::Wait;
        }
        // A node that has had no token does not know the leases of its ring (`terms.md` T11). A leader may still be
        // alive.
        let is_too_early = self.stage == RestoreStage::Second && now < self.earliest;
        if self.sent_count < count || is_too_early {
            // The count stays within its limit, so that each refused TR1 causes another one.
            self.sent_count = count.min(self.sent_count + 1);
            self.due = now + interval;
            return RestoreAction::SendTr1;
        }
        if self.stage == RestoreStage::First {
            self.stage = RestoreStage::Second;
            // The second try asks with the new id, because another orphan may have drawn the same id (R13).
            self.sent_count = 0;
            return RestoreAction::StartSecondTry;
        }
        self.stage = RestoreStage::Granted;
        RestoreAction::Wait
    }

    pub(crate) fn extend_to(&mut self, least: Duration) {
        self.earliest = self.earliest.max(self.begun + least);
    }

    /// Notes that the link refused a TR1. The node sends one more TR1, because nodes that received no question cannot
    /// object.
    pub(crate) const fn note_unsent(&mut self) {
        self.sent_count = self.sent_count.saturating_sub(1);
    }

    /// Whether a token_id that was heard from another node ends the restore without success. `own` is this node's id.
    pub(crate) fn is_denied_by(&self, heard: TokenId, own: TokenId) -> bool {
        // A leader exists, so a second token would split the ring.
        heard.is_leader()
            || match heard.compare(own) {
                Ordering::Greater => true,
                // In the first try an equal id only shows that both nodes know the same token, so it does not deny the
                // restore.
                Ordering::Equal => self.stage != RestoreStage::First,
                Ordering::Less => false,
            }
    }
}
