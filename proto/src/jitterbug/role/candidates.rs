//! The candidates of a turn (`docs/jitterbug.md`, section 5).

use std::time::Duration;

use super::pass::Pass;
use crate::time::Instant;

/// The maximum number of nodes that are asked for a sign of life in one turn.
const ASKS_PER_TURN_MAX: usize = 16;

/// The candidates of a turn, one after the other.
#[derive(Debug, Default)]
pub(crate) struct CandidateRound {
    /// Whether step 4 is done.
    is_begun: bool,
    /// How long inbound exchanges may delay the pass.
    delayed_until: Option<Instant>,
    /// The index of the last candidate in the list.
    last: Option<usize>,
    /// Whether the end of the list was passed.
    is_wrapped: bool,
    /// Whether a pass of this turn could not reach its candidate in time.
    has_lost_time: bool,
    /// The number of nodes that were asked for a sign of life in this turn.
    ask_count: usize,
    pass: Option<Box<Pass>>,
}

impl CandidateRound {
    pub(crate) fn pass(&self) -> Option<&Pass> {
        self.pass.as_deref()
    }

    pub(super) fn pass_mut(&mut self) -> Option<&mut Pass> {
        self.pass.as_deref_mut()
    }

    pub(crate) fn begin(&mut self, pass: Pass) {
        self.pass = Some(Box::new(pass));
    }

    pub(super) const fn take_pass(&mut self) -> Option<Box<Pass>> {
        self.pass.take()
    }

    /// Returns when the running pass is over, or when the next pass is no longer delayed.
    pub(super) fn due(&self) -> Option<Instant> {
        self.pass().map(Pass::deadline).or(self.delayed_until)
    }

    /// Notes that inbound exchanges delay the next pass. Returns whether they still may: they may for `time`.
    pub(crate) fn delay(&mut self, now: Instant, time: Duration) -> bool {
        *self.delayed_until.get_or_insert(now + time) > now
    }

    /// Notes that the next pass is not delayed. Returns whether step 4 is still to be done.
    pub(crate) const fn begin_passing(&mut self) -> bool {
        self.delayed_until = None;
        !std::mem::replace(&mut self.is_begun, true)
    }

    /// Notes that a pass could not reach its candidate in time.
    pub(crate) const fn note_lost_time(&mut self) {
        self.has_lost_time = true;
    }

    pub(crate) const fn has_lost_time(&self) -> bool {
        self.has_lost_time
    }

    /// Whether one more node may be asked for a sign of life. If so, it counts as asked.
    pub(crate) fn count_ask(&mut self) -> bool {
        let may_ask = self.ask_count < ASKS_PER_TURN_MAX;
        self.ask_count += usize::from(may_ask);
        may_ask
    }

    /// Returns the index of the next candidate in a list of `len` entries, cyclically from the node's own entry.
    pub(crate) fn next_place(&mut self, own: Option<usize>, len: usize) -> Option<usize> {
        let mut next = match (self.last, own) {
            (Some(last), _) => last + 1,
            (None, Some(own)) => own + 1,
            // The list had no room for this node's own entry.
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
