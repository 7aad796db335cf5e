//! The results of an input: timers, frames and events.

use std::collections::VecDeque;
use std::hash::Hash;

use ring_codec::MacAddr;

use super::outbox::{Content, Outbox, Outgoing, REPLIES_MAX};
use super::snapshot::Writer;
use super::timer::{self, Timer};
use crate::lab2::{Event, State};
use crate::time::Instant;
use crate::timers::{TimerKind, Timers};

/// Number of events for which the queue has space at first. Only an input with more events makes the queue allocate
/// memory.
const EVENT_CAPACITY: usize = 128;

/// The timers, frames and events that inputs cause. The driver takes the outputs after every input.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Output {
    timers: Timers<{ timer::COUNT }>,
    pub(super) outbox: Outbox,
    events: VecDeque<Event>,
    /// The number of further frames that the current input may cause. The number is `usize::MAX` if the input is not a
    /// received frame.
    replies_left: usize,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self {
            timers: Timers::new(),
            outbox: Outbox::new(),
            events: VecDeque::with_capacity(EVENT_CAPACITY),
            replies_left: usize::MAX,
        }
    }

    /// Begins an input that is a received frame. A received frame may cause at most [`REPLIES_MAX`] frames.
    pub(super) fn begin_frame_input(&mut self) {
        self.replies_left = REPLIES_MAX;
    }

    /// Begins any other input. An input that is not a received frame may cause any number of frames.
    pub(super) fn begin_other_input(&mut self) {
        self.replies_left = usize::MAX;
    }

    pub(crate) const fn replies_left(&self) -> usize {
        self.replies_left
    }

    /// Whether the current input is a received frame. The number of answers to a received frame is limited.
    pub(super) const fn is_replying(&self) -> bool {
        self.replies_left <= REPLIES_MAX
    }

    /// Whether the current input may cause one more frame.
    pub(crate) const fn may_reply(&self) -> bool {
        self.replies_left > 0
    }

    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.timers.set(timer, at);
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.timers.stop(timer);
    }

    pub(super) fn stop_all(&mut self) {
        self.timers.stop_all();
    }

    /// Stops the timers that must not keep running in this state. Call this function when the node enters a state.
    pub(super) fn enter(&mut self, state: State) {
        self.timers
            .retain(|timer: Timer| timer.outlives_entry(state));
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.timers.is_set(timer)
    }

    /// Returns the time at which a timer is due. Returns `None` if the timer is not set.
    pub(crate) fn due(&self, timer: Timer) -> Option<Instant> {
        self.timers.due(timer)
    }

    /// If the timer is due, stops it. Returns whether the timer was due.
    pub(super) fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        self.timers.take_due(timer, now)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    pub(crate) fn send(&mut self, to: MacAddr, content: Content) {
        // Some callers do not check the limit first, so the count may already be 0.
        self.replies_left = self.replies_left.saturating_sub(1);
        self.outbox.push(Outgoing { to, content });
    }

    pub(crate) fn broadcast(&mut self, content: Content) {
        self.send(MacAddr::BROADCAST, content);
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Writes the remaining time of each timer. An overdue timer counts as due now.
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            timers,
            outbox,
            events,
            // Every input sets it again.
            replies_left: _,
        } = self;
        events.len().hash(writer);
        for &timer in Timer::ALL {
            let to_go = timers.due(timer).map(|due| due.since(writer.now));
            to_go.hash(writer);
        }
        outbox.snapshot(writer);
    }
}
