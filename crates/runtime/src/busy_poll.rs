//! Looks for messages without sleeping, for a short time after the last message.
//!
//! To wake a sleeping thread, the kernel needs several times as long as a state machine needs for a message. A thread
//! that polls needs no wake-up, but uses a whole processor while it polls. So polling is optional.

use std::hint;
use std::thread;
use std::time::Duration;

use ring_proto::time::Instant;

/// With [`BusyPoll::Auto`], the time of polling after a message. In a ring of ten machines that do not sleep, the token
/// comes back within this time.
const AUTO_DURATION: Duration = Duration::from_micros(100);
/// With [`BusyPoll::Auto`], polling begins after this number of successive gaps below [`AUTO_BEGINS_WITHIN`] between
/// messages. A heartbeat of a usual ring causes fewer messages.
const AUTO_MESSAGES: u32 = 64;
/// With [`BusyPoll::Auto`], the longest time between two messages before polling begins. It is longer than
/// [`AUTO_DURATION`], because machines that sleep are slower.
const AUTO_BEGINS_WITHIN: Duration = Duration::from_micros(500);
/// The loop looks at all other descriptors at least this often.
const OTHERS_INTERVAL: Duration = Duration::from_micros(50);
/// The number of looks at the link between two readings of the clock.
const LOOKS_PER_CLOCK: u32 = 16;

/// The time for which a loop looks for messages before it sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BusyPoll {
    /// The loop sleeps at once.
    #[default]
    Never,
    /// The loop polls for this time after each message.
    For(Duration),
    /// The loop polls while messages follow each other without a pause.
    Auto,
}

/// The work of a loop that polls, since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BusyPollWork {
    /// The time that the loop spent polling.
    pub time: Duration,
    /// The number of times at which polling found a message in memory.
    pub found: u64,
    /// The number of times at which the loop gave up and slept.
    pub given_up: u64,
}

/// Decides when a loop polls.
#[derive(Debug, Default)]
pub(crate) struct BusyPolling {
    setting: BusyPoll,
    /// Whether only one processor is available. Then another thread must run before a message can arrive.
    must_yield: bool,
    /// Time of the last message.
    last_message: Instant,
    /// The number of successive messages without a pause, up to [`AUTO_MESSAGES`].
    streak: u32,
    /// Time of the last look at all descriptors.
    looked_at_others: Instant,
    work: BusyPollWork,
}

impl BusyPolling {
    pub(crate) fn new(setting: BusyPoll) -> Self {
        let processors = thread::available_parallelism();
        Self {
            setting,
            must_yield: processors.is_ok_and(|number| number.get() == 1),
            ..Self::default()
        }
    }

    pub(crate) const fn work(&self) -> BusyPollWork {
        self.work
    }

    /// Returns the time until which the loop polls; `None` if the loop sleeps at once.
    pub(crate) fn until(&self) -> Option<Instant> {
        let duration = match self.setting {
            BusyPoll::Never => return None,
            BusyPoll::For(duration) => duration,
            BusyPoll::Auto if self.streak < AUTO_MESSAGES => return None,
            BusyPoll::Auto => AUTO_DURATION,
        };
        Some(self.last_message + duration)
    }

    /// Whether it is time to look at all descriptors.
    pub(crate) fn must_look_at_others(&self, now: Instant) -> bool {
        now.since(self.looked_at_others) >= OTHERS_INTERVAL
    }

    /// Looks for a message several times. Returns whether there is one.
    pub(crate) fn look(&self, mut has_message: impl FnMut() -> bool) -> bool {
        for _ in 0..LOOKS_PER_CLOCK {
            if has_message() {
                return true;
            }
            if self.must_yield {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
        false
    }

    /// Handles the end of a wait that polled since `began`.
    pub(crate) fn on_polled(&mut self, began: Instant, now: Instant) {
        self.work.time += now.since(began);
    }

    /// Handles a message that the link has in memory.
    pub(crate) const fn on_found(&mut self) {
        self.work.found += 1;
    }

    /// Handles the decision to sleep, because no message came in time.
    pub(crate) fn on_given_up(&mut self) {
        self.work.given_up += 1;
        self.streak = 0;
    }

    /// Handles a look at all descriptors.
    pub(crate) fn on_looked_at_others(&mut self, now: Instant) {
        self.looked_at_others = now;
    }

    /// Handles the arrival of messages.
    pub(crate) fn on_message(&mut self, now: Instant) {
        let is_next = now.since(self.last_message) < AUTO_BEGINS_WITHIN;
        self.streak = if is_next {
            (self.streak + 1).min(AUTO_MESSAGES)
        } else {
            0
        };
        self.last_message = now;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::{AUTO_BEGINS_WITHIN, AUTO_DURATION, AUTO_MESSAGES, BusyPoll, BusyPolling};

    const START: Instant = Instant::from_nanos(1_000_000_000);

    /// Reports messages at equal intervals, and returns the time of the last message.
    fn messages(polling: &mut BusyPolling, from: Instant, interval: Duration) -> Instant {
        let times = (1..=AUTO_MESSAGES).map(|number| from + interval * number);
        times
            .inspect(|&at| polling.on_message(at))
            .last()
            .unwrap_or(from)
    }

    #[test]
    fn a_loop_without_the_option_sleeps_at_once() {
        let mut polling = BusyPolling::new(BusyPoll::Never);
        messages(&mut polling, START, Duration::from_micros(1));
        assert_eq!(polling.until(), None);
    }

    #[test]
    fn with_a_duration_the_loop_polls_after_each_message() {
        let duration = Duration::from_micros(70);
        let mut polling = BusyPolling::new(BusyPoll::For(duration));
        polling.on_message(START);
        assert_eq!(polling.until(), Some(START + duration));
        polling.on_given_up();
        assert_eq!(polling.until(), Some(START + duration));
    }

    #[test]
    fn with_auto_the_loop_polls_while_messages_follow_each_other() {
        let mut polling = BusyPolling::new(BusyPoll::Auto);
        let quick = AUTO_BEGINS_WITHIN / 2;
        polling.on_message(START);
        assert_eq!(polling.until(), None);
        let last = messages(&mut polling, START, quick);
        assert_eq!(polling.until(), Some(last + AUTO_DURATION));
        polling.on_given_up();
        assert_eq!(polling.until(), None, "it waits for the next series");
        let last = messages(&mut polling, last, quick);
        assert_eq!(polling.until(), Some(last + AUTO_DURATION));
    }

    #[test]
    fn with_auto_a_ring_at_rest_does_not_poll() {
        let mut polling = BusyPolling::new(BusyPoll::Auto);
        let last = messages(&mut polling, START, AUTO_BEGINS_WITHIN);
        messages(&mut polling, last, Duration::from_millis(10));
        assert_eq!(polling.until(), None);
    }

    #[test]
    fn the_loop_looks_at_other_descriptors_after_a_bounded_time() {
        let mut polling = BusyPolling::new(BusyPoll::Auto);
        assert!(polling.must_look_at_others(START));
        polling.on_looked_at_others(START);
        assert!(!polling.must_look_at_others(START + Duration::from_micros(1)));
        assert!(polling.must_look_at_others(START + super::OTHERS_INTERVAL));
    }
}
