//! A leader's turn (`docs/jitterbug.md`, section 5).

use std::time::Duration;

use super::pass::Pass;
use crate::time::Instant;

/// How long a leader keeps the token at least after a turn that nobody took.
const LEAST_HOLD: Duration = Duration::from_millis(10);

/// What a leader does from when it has the token until it is given away, or nobody has taken it.
#[derive(Debug)]
pub(super) struct Turn {
    begun: Instant,
    /// Nobody took the token in the turn before.
    is_untaken: bool,
    /// The hold is left out.
    pub(super) is_yielded: bool,
    /// A token that came has changed the data: it is computed anew.
    pub(super) is_changed: bool,
    pub(super) phase: Phase,
}

/// The steps of a turn.
#[derive(Debug)]
pub(super) enum Phase {
    /// Step 1.
    Deciding,
    /// Step 2.
    Computing,
    /// Step 3.
    Holding,
    /// Steps 4 and 5.
    Passing(Round),
}

/// The candidates, one after the other.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Step 4 is done.
    pub(super) is_begun: bool,
    /// How long inbound exchanges may keep the pass waiting.
    pub(super) put_off: Option<Instant>,
    /// The candidate tried last, as a place in the list.
    pub(super) last: Option<usize>,
    /// The end of the list lies behind.
    pub(super) is_wrapped: bool,
    /// A pass of this round found no way to its candidate in time.
    pub(super) has_cost_time: bool,
    /// Nodes that were asked for a sign of life in this round.
    pub(super) asked: usize,
    /// The pass that goes on.
    pub(super) pass: Option<Box<Pass>>,
}

impl Turn {
    pub(super) const fn new(now: Instant, is_untaken: bool) -> Self {
        Self {
            begun: now,
            is_untaken,
            is_yielded: false,
            is_changed: false,
            phase: Phase::Deciding,
        }
    }

    /// Until when the token is held, without local work. A round of `nodes` stays below `renew_timeout`.
    pub(super) fn held_until(
        &self,
        hold: Duration,
        renew_timeout: Duration,
        nodes: usize,
    ) -> Instant {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
        let share = renew_timeout / nodes.saturating_mul(2);
        let hold = if self.is_yielded {
            Duration::ZERO
        } else {
            hold.min(share)
        };
        let least = if self.is_untaken {
            LEAST_HOLD
        } else {
            Duration::ZERO
        };
        self.begun + hold.max(least)
    }

    pub(super) const fn round(&self) -> Option<&Round> {
        match &self.phase {
            Phase::Passing(round) => Some(round),
            _ => None,
        }
    }

    pub(super) const fn round_mut(&mut self) -> Option<&mut Round> {
        match &mut self.phase {
            Phase::Passing(round) => Some(round),
            _ => None,
        }
    }

    pub(super) fn pass(&self) -> Option<&Pass> {
        self.round()?.pass.as_deref()
    }
}

impl Round {
    /// The place of the next candidate in a list of `len` entries, cyclic from the `own` one.
    pub(super) fn next(&mut self, own: Option<usize>, len: usize) -> Option<usize> {
        let mut next = match (self.last, own) {
            (Some(last), _) => last + 1,
            (None, Some(own)) => own + 1,
            // An own entry for which there was no room.
            (None, None) => 0,
        };
        if next >= len && !self.is_wrapped && own.is_some() {
            self.is_wrapped = true;
            next = 0;
        }
        let end = if self.is_wrapped {
            own.unwrap_or(0)
        } else {
            len
        };
        self.last = Some(next.min(len));
        (next < end).then_some(next)
    }
}
