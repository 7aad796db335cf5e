//! The candidates of a turn (`docs/jitterbug/protocol/leader.md` K1 to K9).

use std::time::Duration;

use super::pass::Pass;
use crate::time::Instant;

/// The maximum number of nodes that a leader asks for a sign of life in one turn.
const ASKS_PER_TURN_MAX: usize = 16;

/// The candidates that a leader tries in one turn, one by one.
#[derive(Debug, Default)]
pub(crate) struct CandidateRound {
    /// Whether the waiting nodes were added to the list (step 4).
    is_begun: bool,
    /// The time until which exchanges with givers may delay this node's pass.
    delayed_until: Option<Instant>,
    /// The index, in the list, of the candidate that was tried last.
    last: Option<usize>,
    /// Whether the search for a candidate has passed the end of the list.
    is_wrapped: bool,
    /// Whether a pass of this turn could not reach its candidate in time.
    has_lost_time: bool,
    /// The number of nodes that the leader asked for a sign of life in this turn.
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

    /// Returns the deadline of the running pass. If no pass runs, returns the time until which the next pass may be
    /// delayed.
    pub(super) fn due(&self) -> Option<Instant> {
        self.pass().map(Pass::deadline).or(self.delayed_until)
    }

    /// Notes that exchanges with givers delay the next pass. Returns whether the exchanges may delay the pass any
    /// longer. The limit is `time`.
    pub(crate) fn delay(&mut self, now: Instant, time: Duration) -> bool {
        // The limit begins with the first delay, so that further exchanges cannot extend it.
        *self.delayed_until.get_or_insert(now + time) > now
    }

    /// Notes that nothing delays the next pass. Returns whether the leader must still do step 4.
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

    /// Whether the leader may ask one more node for a sign of life. If the leader may ask one more node, the function
    /// counts this node as asked.
    pub(crate) fn count_ask(&mut self) -> bool {
        // The questions of a turn leave in one burst, which must fit the buffers of the network.
        let may_ask = self.ask_count < ASKS_PER_TURN_MAX;
        self.ask_count += usize::from(may_ask);
        may_ask
    }

    /// Returns the index of the next candidate in a list of `len` entries. The search begins after the node's own
    /// entry, and continues at the start of the list.
    pub(crate) fn next_place(&mut self, own: Option<usize>, len: usize) -> Option<usize> {
        let mut next = match (self.last, own) {
            (Some(last), _) => last + 1,
            (None, Some(own)) => own + 1,
            // The list had no room for this node's own entry.
            (None, None) => 0,
        };
        // A node without an entry begins at the front, so its round never wraps around.
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
