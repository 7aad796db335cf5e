//! A leader's turn (`docs/jitterbug/protocol/leader.md` L1 to L14).

use std::time::Duration;

use super::candidate_round::CandidateRound;
use super::pass::Pass;
use crate::time::Instant;

/// After a turn in which no node took the token, a leader keeps the token at least this long. Without a minimum time,
/// the leader would run in a tight loop.
const UNTAKEN_HOLD_MIN: Duration = Duration::from_millis(10);

/// The turn of a leader. The turn ends when the token is passed on, or when the leader has tried all candidates.
#[derive(Debug)]
pub(crate) struct Turn {
    begun: Instant,
    /// Whether no node took the token in the previous turn.
    is_untaken: bool,
    /// Whether the leader passes the token before the end of the hold.
    is_yielded: bool,
    /// Whether a received token changed the data, so that the node must compute again.
    is_changed: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Step 1.
    Deciding,
    /// Step 2.
    Computing,
    /// Step 3.
    Holding,
    /// Steps 4 and 5.
    Passing(CandidateRound),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnInput {
    /// Whether a decision runs or waits.
    pub(crate) is_deciding: bool,
    /// Whether the turn must not wait for anything.
    pub(crate) has_to_hurry: bool,
    /// Whether the token must stay at this node.
    pub(crate) is_kept: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStep {
    Wait,
    /// The turn entered its next phase.
    Continue,
    /// The next data must be computed.
    Compute,
    /// The computation must be cancelled.
    CancelComputation,
    /// The next candidate must be tried.
    TryCandidate,
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

    /// Returns the time until which a leader without local work keeps the token. If all leaders keep the token only
    /// until this time, a rotation through `nodes` nodes takes less than `renew_timeout`.
    pub(crate) fn held_until(
        &self,
        hold: Duration,
        renew_timeout: Duration,
        nodes: usize,
    ) -> Instant {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
        // The other half of `renew_timeout` is for computations and hops.
        let share = renew_timeout / nodes.saturating_mul(2);
        let hold = if self.is_yielded {
            Duration::ZERO
        } else {
            hold.min(share)
        };
        let least = if self.is_untaken {
            UNTAKEN_HOLD_MIN
        } else {
            Duration::ZERO
        };
        self.begun + hold.max(least)
    }

    /// Takes the next step, if possible.
    pub(crate) fn step(&mut self, given: TurnInput) -> TurnStep {
        // A turn in a hurry passes the data as it is.
        let is_changed = self.is_changed && !given.has_to_hurry;
        let (next, step) = match &self.phase {
            // A running decision continues, and its result counts when it ends.
            Phase::Deciding if given.has_to_hurry => (Phase::Holding, TurnStep::Continue),
            Phase::Deciding if given.is_deciding => return TurnStep::Wait,
            Phase::Deciding => {
                self.is_changed = false;
                (Phase::Computing, TurnStep::Compute)
            }
            Phase::Computing if given.has_to_hurry => (Phase::Holding, TurnStep::CancelComputation),
            Phase::Computing => return TurnStep::Wait,
            Phase::Holding if is_changed => (Phase::Deciding, TurnStep::Continue),
            Phase::Holding if given.is_kept => return TurnStep::Wait,
            Phase::Holding => (
                Phase::Passing(CandidateRound::default()),
                TurnStep::Continue,
            ),
            Phase::Passing(round) if round.pass().is_some() => return TurnStep::Wait,
            // The next candidate must get data that continues from the merge.
            Phase::Passing(_) if is_changed => (Phase::Deciding, TurnStep::Continue),
            Phase::Passing(_) => return TurnStep::TryCandidate,
        };
        self.phase = next;
        step
    }

    /// Notes that the computation of step 2 ended.
    pub(crate) fn on_computed(&mut self) {
        if self.is_computing() {
            self.phase = Phase::Holding;
        }
    }

    /// Notes that a decision changed the data. During step 1, a decision that changes the data has no further effect,
    /// because the computation follows in any case.
    pub(crate) const fn on_changed(&mut self) {
        if !matches!(self.phase, Phase::Deciding) {
            self.is_changed = true;
        }
    }

    /// Skips the rest of the hold.
    pub(crate) const fn give_up_hold(&mut self) {
        self.is_yielded = true;
    }

    /// Returns the time of the turn's next timeout. During its hold, a turn waits until `held_until`.
    pub(crate) fn due(&self, held_until: Option<Instant>) -> Option<Instant> {
        match &self.phase {
            // A job ends by its outcome or its own time limit.
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
        self.round()?.pass()
    }

    pub(super) const fn round(&self) -> Option<&CandidateRound> {
        match &self.phase {
            Phase::Passing(round) => Some(round),
            _ => None,
        }
    }

    pub(super) const fn round_mut(&mut self) -> Option<&mut CandidateRound> {
        match &mut self.phase {
            Phase::Passing(round) => Some(round),
            _ => None,
        }
    }
}
