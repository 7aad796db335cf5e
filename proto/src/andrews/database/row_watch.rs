//! Measures for how long the rows have been the same. This module also contains the timers that depend on the age of
//! the rows (`docs/board/protocol/members.md`, rules L; `token.md`, rules T).

use std::time::Duration;

use super::view::View;
use crate::time::Instant;

/// Timers that depend on the rows of several looks.
#[derive(Debug, Default)]
pub(crate) struct RowWatch {
    /// The time of the first look at the database that read the current beat of the coordinator.
    beat_since: Instant,
    /// The time of the first look at the database that showed the current coordinator and term.
    coordinator_since: Instant,
    /// Whether the next write that tests the database is due.
    is_try_due: bool,
    /// Whether the node makes the pending claim because it saw no token.
    is_for_lost_token: bool,
    /// Whether the database committed a claim for a lost token, so that this node must make a token at once.
    is_token_due: bool,
}

impl RowWatch {
    /// Compares the rows of a look with the rows of the previous look.
    pub(crate) fn on_look(&mut self, before: Option<&View>, view: &View, now: Instant) {
        let is_same_seat = before.is_some_and(|before| before.seat() == view.seat());
        if !is_same_seat {
            self.coordinator_since = now;
        }
        // A new coordinator, or a new term, starts with a full time for its first beat.
        if !is_same_seat || before.is_some_and(|before| before.beat() != view.beat()) {
            self.beat_since = now;
        }
    }

    pub(crate) const fn coordinator_since(&self) -> Instant {
        self.coordinator_since
    }

    /// Whether all looks during at least `time`, up to the look at `read_at`, read the same beat.
    pub(crate) fn is_beat_stalled(
        &self,
        time: Duration,
        up_since: Instant,
        read_at: Instant,
    ) -> bool {
        // While the database did not answer this node, the coordinator may have been unable to write its beat. The
        // measured time ends at the look and not at the present time, because the beat may have moved since that look.
        self.beat_since.max(up_since) + time <= read_at
    }

    pub(crate) const fn on_poll(&mut self) {
        self.is_try_due = true;
    }

    pub(crate) const fn take_try_due(&mut self) -> bool {
        std::mem::replace(&mut self.is_try_due, false)
    }

    pub(crate) const fn on_claim_started(&mut self, is_for_lost_token: bool) {
        self.is_for_lost_token = is_for_lost_token;
    }

    pub(crate) const fn on_claim_committed(&mut self, is_in_time: bool) {
        // After a late outcome this node makes no token, because the next coordinator may have made a token since.
        self.is_token_due = self.is_for_lost_token && is_in_time;
    }

    pub(crate) const fn take_token_due(&mut self) -> bool {
        std::mem::replace(&mut self.is_token_due, false)
    }
}
