//! The segment and the daemon's machine in one time, which passes only when a test waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::host::Host;
use super::segment::{DAEMON, Segment};

/// More turns than any daemon needs for what happens at one time.
const TURNS: u32 = 100;

/// All that there is, shared by the handles that a test has.
#[derive(Debug, Clone)]
pub(crate) struct World(Rc<RefCell<Inner>>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub segment: Segment,
    pub host: Host,
    /// Turns since the time last moved.
    turns: u32,
}

impl World {
    pub(crate) fn new(host: Host) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            segment: Segment::default(),
            host,
            turns: 0,
        })))
    }

    pub(crate) fn now(&self) -> Duration {
        self.with(|inner| inner.segment.now())
    }

    /// Does something in no time.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.borrow_mut())
    }

    /// Lets time pass until `found` finds something, for `timeout` at most. Looks whenever
    /// something has happened.
    pub(crate) fn wait<T>(
        &self,
        timeout: Duration,
        mut found: impl FnMut(&mut Inner) -> Option<T>,
    ) -> Option<T> {
        let end = self.now() + timeout;
        loop {
            if let Some(found) = self.with(&mut found) {
                return Some(found);
            }
            if !self.with(|inner| inner.step(end)) {
                return None;
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        self.wait(time, |_| None::<()>);
    }
}

impl Inner {
    /// Goes on to the next thing that happens until `end`; without one to `end`, and says so.
    fn step(&mut self, end: Duration) -> bool {
        let Self { segment, host, .. } = self;
        let unread = !segment.queue(DAEMON).is_empty() && host.is_running();
        let events = [
            segment.next_arrival(),
            host.deadline(),
            unread.then(|| segment.now()),
        ];
        let next = events.into_iter().flatten().min();
        let Some(next) = next.filter(|&next| next <= end) else {
            segment.advance(end);
            return false;
        };
        // A daemon that was stopped is late.
        let next = next.max(segment.now());
        self.turns = if next == segment.now() {
            self.turns + 1
        } else {
            0
        };
        assert!(self.turns < TURNS, "the daemon does not come to rest");
        segment.advance(next);
        host.turn(segment);
        true
    }
}
