//! A leader's turn (`docs/jitterbug.md`, section 5).

use std::time::Duration;

use super::pass::Pass;
use super::round::Round;
use crate::time::Instant;

/// How long a leader keeps the token at least after a turn that nobody took.
const LEAST_HOLD: Duration = Duration::from_millis(10);

/// What a leader does from when it has the token until it is given away, or nobody has taken it.
#[derive(Debug)]
pub(crate) struct Turn {
    begun: Instant,
    /// Nobody took the token in the turn before.
    is_untaken: bool,
    /// The hold is left out.
    is_yielded: bool,
    /// A token that came has changed the data: it is computed anew.
    is_changed: bool,
    phase: Phase,
}

/// The steps of a turn.
#[derive(Debug)]
enum Phase {
    /// Step 1.
    Deciding,
    /// Step 2.
    Computing,
    /// Step 3.
    Holding,
    /// Steps 4 and 5.
    Passing(Round),
}

/// What decides about the next step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    /// Something is being decided, or waits to be.
    pub(crate) is_deciding: bool,
    /// Nothing is waited for any more.
    pub(crate) is_in_haste: bool,
    /// The token is kept here.
    pub(crate) is_kept: bool,
}

/// What a turn has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It waits.
    Wait,
    /// It has gone on.
    On,
    /// The next data is to be computed.
    Compute,
    /// What is computed is not waited for.
    DropComputed,
    /// The next candidate is to be tried.
    Try,
}

impl Turn {
    pub(crate) const fn new(now: Instant, is_untaken: bool) -> Self {
        Self {
            begun: now,
            is_untaken,
            is_yielded: false,
            is_changed: false,
            phase: Phase::Deciding,
        }
    }

    /// Until when the token is held, without local work. A round of `nodes` stays below `renew_timeout`.
    pub(crate) fn held_until(
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

    /// Takes the next step, if it can be taken.
    pub(crate) fn step(&mut self, given: Given) -> Step {
        let is_changed = self.is_changed && !given.is_in_haste;
        let (next, step) = match &self.phase {
            Phase::Deciding if given.is_in_haste => (Phase::Holding, Step::On),
            Phase::Deciding if given.is_deciding => return Step::Wait,
            Phase::Deciding => {
                self.is_changed = false;
                (Phase::Computing, Step::Compute)
            }
            Phase::Computing if given.is_in_haste => (Phase::Holding, Step::DropComputed),
            Phase::Computing => return Step::Wait,
            Phase::Holding if is_changed => (Phase::Deciding, Step::On),
            Phase::Holding if given.is_kept => return Step::Wait,
            Phase::Holding => (Phase::Passing(Round::default()), Step::On),
            Phase::Passing(round) if round.pass().is_some() => return Step::Wait,
            Phase::Passing(_) if is_changed => (Phase::Deciding, Step::On),
            Phase::Passing(_) => return Step::Try,
        };
        self.phase = next;
        step
    }

    /// A computation has ended.
    pub(crate) fn on_computed(&mut self) {
        if self.is_computing() {
            self.phase = Phase::Holding;
        }
    }

    /// A decision has changed the data. In step 1 the computation is still to come.
    pub(crate) const fn on_changed(&mut self) {
        if !matches!(self.phase, Phase::Deciding) {
            self.is_changed = true;
        }
    }

    /// The rest of the hold is left out.
    pub(crate) const fn give_up_hold(&mut self) {
        self.is_yielded = true;
    }

    /// When something is to be done; the token is held until `held_until`, if not longer.
    pub(crate) fn due(&self, held_until: Option<Instant>) -> Option<Instant> {
        match &self.phase {
            Phase::Deciding | Phase::Computing => None,
            Phase::Holding => held_until,
            Phase::Passing(round) => round.due(),
        }
    }

    pub(crate) const fn is_computing(&self) -> bool {
        matches!(self.phase, Phase::Computing)
    }

    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self.phase, Phase::Passing(_))
    }

    pub(crate) fn pass(&self) -> Option<&Pass> {
        match &self.phase {
            Phase::Passing(round) => round.pass(),
            _ => None,
        }
    }

    pub(super) const fn round_mut(&mut self) -> Option<&mut Round> {
        match &mut self.phase {
            Phase::Passing(round) => Some(round),
            _ => None,
        }
    }
}
