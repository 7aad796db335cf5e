//! The restore of an orphan (`docs/jitterbug.md`, section 3).
//!
//! The tryout id is the node's token_id all the time: the second try sets a new one.

use std::cmp::Ordering;
use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestoreAction {
    /// Nothing yet.
    Wait,
    /// The next TR1.
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
    /// The number of TR1 in this try that the link has accepted.
    sent_count: u32,
    /// When the next TR1 is due, or the end of the try.
    due: Instant,
    /// The number of this restore, from 1.
    number: u64,
    begun: Instant,
    /// When the restore may be granted at the earliest.
    earliest: Instant,
}

impl Restore {
    /// Creates a restore that lasts at least for `least`.
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

    /// Takes the next step, if it is due. A late step delays the later ones, so that each TR1 has a whole interval for
    /// its answers.
    pub(crate) fn take_step(
        &mut self,
        now: Instant,
        count: u32,
        interval: Duration,
    ) -> RestoreAction {
        if self.is_granted() || now < self.due {
            return RestoreAction::Wait;
        }
        // A node without a former token does not know the leases of its ring, so a leader may still be alive (section 1).
        let is_too_early = self.stage == RestoreStage::Second && now < self.earliest;
        if self.sent_count < count || is_too_early {
            self.sent_count = count.min(self.sent_count + 1);
            self.due = now + interval;
            return RestoreAction::SendTr1;
        }
        if self.stage == RestoreStage::First {
            self.stage = RestoreStage::Second;
            // The second try asks with the new id, because another orphan can have drawn the same one (section 3).
            self.sent_count = 0;
            return RestoreAction::StartSecondTry;
        }
        self.stage = RestoreStage::Granted;
        RestoreAction::Wait
    }

    pub(crate) fn extend_to(&mut self, least: Duration) {
        self.earliest = self.earliest.max(self.begun + least);
    }

    /// Notes that the link has refused a TR1. Another one is sent for it: a node that was not asked cannot object.
    pub(crate) const fn note_unsent(&mut self) {
        self.sent_count = self.sent_count.saturating_sub(1);
    }

    /// Whether a token_id of another node denies the restore. `own` is this node's id.
    pub(crate) fn is_denied_by(&self, heard: TokenId, own: TokenId) -> bool {
        // A leader exists, so a second token would split the ring.
        heard.is_leader()
            || match heard.compare(own) {
                Ordering::Greater => true,
                // In the first try an equal id only shows that both nodes know the same token, so it does not deny.
                Ordering::Equal => self.stage != RestoreStage::First,
                Ordering::Less => false,
            }
    }
}
