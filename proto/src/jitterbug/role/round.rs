//! The candidates of a turn, one after the other (`docs/jitterbug.md`, section 5).

use std::time::Duration;

use super::pass::Pass;
use crate::time::Instant;

/// The most nodes that are asked for a sign of life in one turn.
const ASKS_PER_TURN: usize = 16;

/// The candidates, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Step 4 is done.
    is_begun: bool,
    /// How long inbound exchanges may keep the pass waiting.
    put_off: Option<Instant>,
    /// The candidate tried last, as a place in the list.
    last: Option<usize>,
    /// The end of the list lies behind.
    is_wrapped: bool,
    /// A pass of this round found no way to its candidate in time.
    has_cost_time: bool,
    /// Nodes that were asked for a sign of life in this round.
    asked: usize,
    /// The pass that goes on.
    pass: Option<Box<Pass>>,
}

impl Round {
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

    /// When its pass is over, or is not put off any longer.
    pub(super) fn due(&self) -> Option<Instant> {
        self.pass().map(Pass::deadline).or(self.put_off)
    }

    /// Inbound exchanges are on their way. Returns whether they keep the next pass waiting: they do so for `time`.
    pub(crate) fn put_off(&mut self, now: Instant, time: Duration) -> bool {
        *self.put_off.get_or_insert(now + time) > now
    }

    /// Nothing keeps the next pass waiting. Returns whether step 4 is still to be done.
    pub(crate) const fn go_on(&mut self) -> bool {
        self.put_off = None;
        !std::mem::replace(&mut self.is_begun, true)
    }

    /// A pass found no way to its candidate in time.
    pub(crate) const fn cost_time(&mut self) {
        self.has_cost_time = true;
    }

    pub(crate) const fn has_cost_time(&self) -> bool {
        self.has_cost_time
    }

    /// Whether one more node may be asked for a sign of life; if so it counts as asked.
    pub(crate) fn may_ask(&mut self) -> bool {
        let may_ask = self.asked < ASKS_PER_TURN;
        self.asked += usize::from(may_ask);
        may_ask
    }

    /// The place of the next candidate in a list of `len` entries, cyclic from the `own` one.
    pub(crate) fn next(&mut self, own: Option<usize>, len: usize) -> Option<usize> {
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
