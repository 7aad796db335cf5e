//! Polls: after a message or a request, the loop looks for the next one for a short time without sleeping.
//!
//! The kernel needs some time to wake a sleeping thread. This time is several times longer than the time in which a
//! state machine handles a message. A thread that polls needs no wake-up, but uses a whole processor while it polls. So
//! polling is optional.

use std::hint;
use std::thread;
use std::time::Duration;

use ring_proto::time::Instant;

use crate::wait::{LINK, ReadyKeys};

/// With [`BusyPoll::Auto`], the time for which a loop polls after an input. In a ring of ten machines that all poll,
/// the token comes back within this time.
const AUTO_DURATION: Duration = Duration::from_micros(100);
/// With [`BusyPoll::Auto`], polling begins after this number of inputs that follow each other within less than
/// [`AUTO_BEGINS_WITHIN`]. In a usual ring, a heartbeat causes fewer messages than this number.
const AUTO_INPUTS: u32 = 64;
/// With [`BusyPoll::Auto`], two inputs count as successive if less than this time passes between them. The time is
/// longer than [`AUTO_DURATION`], because machines that do not poll yet are slower.
const AUTO_BEGINS_WITHIN: Duration = Duration::from_micros(500);
/// A polling loop looks at all other descriptors after at most this time. While requests of programs follow each other,
/// the loop looks at all descriptors each time that it finds no message.
const OTHERS_INTERVAL: Duration = Duration::from_micros(50);
/// The number of times that the loop looks for a message before it reads the clock again.
const LOOKS_PER_CLOCK: u32 = 16;

/// The time for which a loop polls before it sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BusyPoll {
    /// The loop sleeps at once.
    #[default]
    Never,
    /// The loop polls for this time after each input.
    For(Duration),
    /// The loop polls while inputs follow each other without a pause.
    Auto,
}

/// The results of a loop's polling since the start of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BusyPollWork {
    /// The time that the loop spent polling.
    pub time: Duration,
    /// The number of times that polling found a message in memory.
    pub found: u64,
    /// The number of times that the loop found no message in time, and slept.
    pub given_up: u64,
}

/// Decides when a loop polls. An input is a message, or an event of another descriptor, such as a request of a program.
#[derive(Debug, Default)]
pub(crate) struct BusyPolling {
    setting: BusyPoll,
    /// Whether only one processor is available. On such a machine, the polling thread must let other threads run,
    /// because otherwise no message can arrive.
    must_yield: bool,
    /// Time of the last input.
    last_input: Instant,
    /// Time of the last event of another descriptor.
    last_event: Instant,
    /// The number of successive inputs that came without a pause. It stops growing at [`AUTO_INPUTS`].
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

    /// Returns the time of polling after an input; `None` if the loop sleeps at once.
    const fn duration(&self) -> Option<Duration> {
        match self.setting {
            BusyPoll::Never => None,
            BusyPoll::For(duration) => Some(duration),
            BusyPoll::Auto if self.streak < AUTO_INPUTS => None,
            BusyPoll::Auto => Some(AUTO_DURATION),
        }
    }

    /// Returns the time until which the loop polls; `None` if the loop sleeps at once.
    pub(crate) fn until(&self) -> Option<Instant> {
        Some(self.last_input + self.duration()?)
    }

    /// Whether it is time to look at all descriptors.
    pub(crate) fn must_look_at_others(&self, now: Instant) -> bool {
        let expects_event = |duration| now.since(self.last_event) < duration;
        now.since(self.looked_at_others) >= OTHERS_INTERVAL
            || self.duration().is_some_and(expects_event)
    }

    /// Looks for a message several times. Returns whether it found a message.
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

    /// Handles the decision to sleep, because no input came in time.
    pub(crate) fn on_given_up(&mut self) {
        self.work.given_up += 1;
        self.streak = 0;
    }

    /// Handles a look at all descriptors.
    pub(crate) fn on_looked_at_others(&mut self, now: Instant) {
        self.looked_at_others = now;
    }

    /// Handles the end of a wait that found these descriptors ready.
    pub(crate) fn on_ready(&mut self, ready: ReadyKeys, now: Instant) {
        if ready.has_event() {
            self.last_event = now;
        } else if !ready.has(LINK) {
            return;
        }
        let is_next = now.since(self.last_input) < AUTO_BEGINS_WITHIN;
        self.streak = if is_next {
            (self.streak + 1).min(AUTO_INPUTS)
        } else {
            0
        };
        self.last_input = now;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::{AUTO_BEGINS_WITHIN, AUTO_DURATION, AUTO_INPUTS, BusyPoll, BusyPolling};
    use crate::wait::ReadyKeys;

    const START: Instant = Instant::from_nanos(1_000_000_000);
    const REQUEST: ReadyKeys = ReadyKeys::only(1);
    const TIMER: ReadyKeys = ReadyKeys::only(63);

    /// Reports ready descriptors at equal intervals, and returns the time of the last report.
    fn repeat(
        polling: &mut BusyPolling,
        ready: ReadyKeys,
        from: Instant,
        interval: Duration,
    ) -> Instant {
        let times = (1..=AUTO_INPUTS).map(|number| from + interval * number);
        times
            .inspect(|&at| polling.on_ready(ready, at))
            .last()
            .unwrap_or(from)
    }

    /// Reports messages at equal intervals, and returns the time of the last message.
    fn messages(polling: &mut BusyPolling, from: Instant, interval: Duration) -> Instant {
        repeat(polling, ReadyKeys::LINK, from, interval)
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
        polling.on_ready(ReadyKeys::LINK, START);
        assert_eq!(polling.until(), Some(START + duration));
        polling.on_given_up();
        assert_eq!(polling.until(), Some(START + duration));
    }

    #[test]
    fn with_auto_the_loop_polls_while_messages_follow_each_other() {
        let mut polling = BusyPolling::new(BusyPoll::Auto);
        let quick = AUTO_BEGINS_WITHIN / 2;
        polling.on_ready(ReadyKeys::LINK, START);
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

    #[test]
    fn with_auto_the_loop_polls_while_requests_follow_each_other() {
        let quick = AUTO_BEGINS_WITHIN / 2;
        let mut polling = BusyPolling::new(BusyPoll::Auto);
        polling.on_ready(REQUEST, START);
        let last = repeat(&mut polling, REQUEST, START, quick);
        assert_eq!(polling.until(), Some(last + AUTO_DURATION));
        polling.on_looked_at_others(last);
        assert!(polling.must_look_at_others(last + AUTO_DURATION / 100));
        repeat(&mut polling, TIMER, last, quick);
        assert_eq!(polling.until(), Some(last + AUTO_DURATION));
    }
}
