//! What a machine has for its driver: when to call again, what to send and what has happened.

use std::collections::VecDeque;
use std::hash::Hash;

use ring_codec::MacAddr;

use crate::lab2::Event;
use crate::lab2::machine::outbox::{Content, MAX_REPLIES, Outbox, Outgoing};
use crate::lab2::machine::snapshot::Writer;
use crate::lab2::machine::timer::{self, Timer};
use crate::timers::{TimerKind, Timers};

/// Events that one input usually makes at most; past it the queue would allocate.
const USUAL_EVENTS: usize = 128;

/// It is drained after every input.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) timers: Timers<{ timer::COUNT }>,
    pub(crate) outbox: Outbox,
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
    pub(crate) fn begin_replies(&mut self) {
        self.replies_left = MAX_REPLIES;
    }

    /// An input begins that is no frame: what it leads to answers nobody.
    pub(crate) fn begin_freely(&mut self) {
        self.replies_left = usize::MAX;
    }

    /// How many more frames the input in hand may lead to.
    pub(crate) const fn replies_left(&self) -> usize {
        self.replies_left
    }

    /// Whether the input in hand is a frame, which has its number of answers.
    pub(crate) const fn is_replying(&self) -> bool {
        self.replies_left <= MAX_REPLIES
    }

    /// Whether the input in hand may lead to one more frame.
    pub(crate) const fn may_reply(&self) -> bool {
        self.replies_left > 0
    }

    pub(crate) fn send(&mut self, to: MacAddr, content: Content) {
        self.replies_left = self.replies_left.saturating_sub(1);
        self.outbox.push(Outgoing { to, content });
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What the future depends on: of timers the time to go, and what is overdue is due.
    pub(crate) fn snapshot(&self, writer: &mut Writer) {
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
