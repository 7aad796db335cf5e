//! The segment and the daemon's machine in virtual time. Virtual time passes only while a test waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::host::Host;
use super::segment::{DAEMON, Segment};

/// Maximum number of turns at the same virtual time. A daemon needs fewer.
const TURNS_MAX: u32 = 100;

/// State that all handles of a test share.
#[derive(Debug, Clone)]
pub(crate) struct Simulation(Rc<RefCell<SimulationState>>);

#[derive(Debug)]
pub(crate) struct SimulationState {
    pub segment: Segment,
    pub host: Host,
    /// Number of turns since the time last advanced.
    turns: u32,
}

impl Simulation {
    pub(crate) fn new(host: Host) -> Self {
        Self(Rc::new(RefCell::new(SimulationState {
            segment: Segment::default(),
            host,
            turns: 0,
        })))
    }

    pub(crate) fn now(&self) -> Duration {
        self.with(|inner| inner.segment.now())
    }

    /// Runs `act` on the state. No time passes.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut SimulationState) -> T) -> T {
        act(&mut self.0.borrow_mut())
    }

    /// Advances time until `found` returns a value, for at most `timeout`. Calls `found` after each event.
    pub(crate) fn wait<T>(
        &self,
        timeout: Duration,
        mut found: impl FnMut(&mut SimulationState) -> Option<T>,
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

    pub(crate) fn pass(&self, time: Duration) {
        self.wait(time, |_| None::<()>);
    }
}

impl SimulationState {
    /// Advances to the next event before `end`. If no event comes before `end`, advances to `end`. Returns whether
    /// there was an event.
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
        // After a stop, deadlines of the daemon may lie in the past.
        let next = next.max(segment.now());
        self.turns = if next == segment.now() {
            self.turns + 1
        } else {
            0
        };
        assert!(
            self.turns < TURNS_MAX,
            "the daemon causes endless events at one time"
        );
        segment.advance(next);
        host.turn(segment);
        true
    }
}
