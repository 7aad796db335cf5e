//! What a machine has for its driver: when to call again, what to send and what has happened.

use std::collections::VecDeque;
use std::hash::Hash;

use ring_codec::MacAddr;

use super::outbox::{Content, MAX_REPLIES, Outbox, Outgoing};
use super::snapshot::Writer;
use super::timer::{self, Timer};
use crate::lab2::{Event, State};
use crate::time::Instant;
use crate::timers::{TimerKind, Timers};

/// Events that one input usually makes at most; past it the queue would allocate.
const USUAL_EVENTS: usize = 128;

/// It is drained after every input.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    timers: Timers<{ timer::COUNT }>,
    pub(super) outbox: Outbox,
    events: VecDeque<Event>,
    /// How many more frames the last input may lead to, if it was a frame; `usize::MAX` if not.
    replies_left: usize,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self {
            timers: Timers::new(),
            outbox: Outbox::new(),
            events: VecDeque::with_capacity(USUAL_EVENTS),
            replies_left: usize::MAX,
        }
    }

    /// An input begins that is a frame: it may be answered so often.
    pub(super) fn begin_replies(&mut self) {
        self.replies_left = MAX_REPLIES;
    }

    /// An input begins that is no frame: what it leads to answers nobody.
    pub(super) fn begin_freely(&mut self) {
        self.replies_left = usize::MAX;
    }

    /// How many more frames the input in hand may lead to.
    pub(crate) const fn replies_left(&self) -> usize {
        self.replies_left
    }

    /// Whether the input in hand is a frame, which has its number of answers.
    pub(super) const fn is_replying(&self) -> bool {
        self.replies_left <= MAX_REPLIES
    }

    /// Whether the input in hand may lead to one more frame.
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

    /// Stops the timers that do not run on when this state is entered.
    pub(super) fn enter(&mut self, state: State) {
        self.timers
            .retain(|timer: Timer| timer.outlives_entry(state));
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.timers.is_set(timer)
    }

    /// When a timer is due; `None`: it is not set.
    pub(crate) fn due(&self, timer: Timer) -> Option<Instant> {
        self.timers.due(timer)
    }

    /// Stops a timer and says whether it was due.
    pub(super) fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        self.timers.take_due(timer, now)
    }

    /// When the next timer is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    pub(crate) fn send(&mut self, to: MacAddr, content: Content) {
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

    /// What the future depends on: of timers the time to go, and what is overdue is due.
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            timers,
            outbox,
            events,
            replies_left: _, // set anew by every input
        } = self;
        events.len().hash(writer);
        for &timer in Timer::ALL {
            let to_go = timers.due(timer).map(|due| due.since(writer.now));
            to_go.hash(writer);
        }
        outbox.snapshot(writer);
    }
}
