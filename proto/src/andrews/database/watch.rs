//! Since when the rows say the same, and what was made of it (`docs/board.md`, sections 4 and 9).

use std::time::Duration;

use super::view::View;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Since when the coordinator's beat stands still, as far as looks have shown.
    beat_since: Instant,
    /// Since when the coordinator and its term are the same.
    seat_since: Instant,
    /// It is time for another write that shows whether the database can be written.
    is_try_due: bool,
    /// The claim in hand is for want of a token.
    is_for_silence: bool,
    /// Such a claim was committed: a token is made at once.
    makes_token: bool,
}

impl Watch {
    /// Takes the rows of a look, after those of the look before.
    pub(crate) fn note(&mut self, before: Option<&View>, view: &View, now: Instant) {
        let is_same_seat = before.is_some_and(|before| before.seat() == view.seat());
        if !is_same_seat {
            self.seat_since = now;
        }
        if !is_same_seat || before.is_some_and(|before| before.beat() != view.beat()) {
            self.beat_since = now;
        }
    }

    pub(crate) const fn seat_since(&self) -> Instant {
        self.seat_since
    }

    /// Whether looks until one have shown the same beat for a time. While the database did not answer the coordinator could
    /// not write either.
    pub(crate) fn is_beat_still(
        &self,
        time: Duration,
        up_since: Instant,
        read_at: Instant,
    ) -> bool {
        self.beat_since.max(up_since) + time <= read_at
    }

    pub(crate) const fn on_poll(&mut self) {
        self.is_try_due = true;
    }

    pub(crate) const fn take_try_due(&mut self) -> bool {
        std::mem::replace(&mut self.is_try_due, false)
    }

    /// A claim is written.
    pub(crate) const fn on_claim(&mut self, is_for_silence: bool) {
        self.is_for_silence = is_for_silence;
    }

    /// A claim was committed.
    pub(crate) const fn on_claimed(&mut self, is_in_time: bool) {
        self.makes_token = self.is_for_silence && is_in_time;
    }

    pub(crate) const fn take_makes_token(&mut self) -> bool {
        std::mem::replace(&mut self.makes_token, false)
    }
}
