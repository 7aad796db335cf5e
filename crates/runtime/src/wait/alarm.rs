//! A timer for deadlines that usually move to a later time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use ring_proto::time::Instant;

/// A timer. Its descriptor is readable after a deadline has passed. The descriptor may also become readable at an
/// earlier deadline, although the deadline has moved to a later time.
///
/// Deadlines usually move to a later time, because every frame extends the timeouts of the members. On a virtual
/// machine, setting the hardware timer takes longer than all other work of a hop. So while waits are frequent, a later
/// deadline does not change the alarm. The alarm goes off at the old deadline, and is then set to the current deadline.
/// While waits are rare, an unnecessary wake-up costs more than setting the alarm. So during the first waits after the
/// alarm went off, the alarm follows every change of the deadline.
#[derive(Debug)]
pub struct Alarm {
    timer: TimerFd,
    /// Time at which the alarm goes off; `None` if it is not set or already went off.
    set: Option<Instant>,
    /// Whether the alarm went off. Then the descriptor is readable until the alarm is set again.
    has_gone_off: bool,
    /// Number of waits since the alarm went off.
    wait_count: u32,
}

/// After the alarm went off, it follows every change of the deadline during this number of waits. In an idle ring,
/// fewer waits pass before the alarm goes off again. In a ring whose token moves without a pause, more waits pass.
const FOLLOWED_WAITS: u32 = 8;

impl Alarm {
    /// Makes an alarm that is not set, on the clock of [`clock::now`](crate::clock::now).
    ///
    /// # Errors
    /// Fails if the process has too many files open.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Ok(Self {
            timer: TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?,
            set: None,
            has_gone_off: false,
            wait_count: 0,
        })
    }

    /// Makes the alarm go off at `deadline` or earlier. `None` means that there is no deadline.
    ///
    /// # Errors
    /// Fails if the system call fails, which does not happen on a healthy system.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.wait_count = self.wait_count.saturating_add(1);
        let followed = self.wait_count <= FOLLOWED_WAITS;
        let moves = |deadline, set| deadline < set || (followed && deadline > set);
        match deadline {
            Some(deadline) if self.set.is_none_or(|set| moves(deadline, set)) => {
                // Zero would unset the timer.
                let at = Duration::from_nanos(deadline.as_nanos().max(1));
                let expiration = Expiration::OneShot(TimeSpec::from(at));
                let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
                self.timer.set(expiration, flags)?;
                self.set = Some(deadline);
            }
            None if self.has_gone_off => self.timer.unset()?,
            _ => return Ok(()),
        }
        self.has_gone_off = false;
        Ok(())
    }

    /// Records that a wait found the alarm readable.
    pub fn on_went_off(&mut self) {
        self.set = None;
        self.has_gone_off = true;
        self.wait_count = 0;
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::Alarm;
    use crate::clock;
    use crate::wait::{Interest, Poller};

    /// Maximum time for an event that must happen.
    const EVENT_TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));
    const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

    fn alarm() -> (Alarm, Poller) {
        let alarm = Alarm::new().expect("an alarm");
        let poller = Poller::new().expect("a poller");
        poller.add(&alarm, 0, Interest::Read).expect("added");
        (alarm, poller)
    }

    fn goes_off(poller: &mut Poller, timeout: Option<Duration>) -> bool {
        poller.wait(timeout).expect("a wait");
        poller.ready().len() == 1
    }

    fn in_millis(millis: u64) -> Instant {
        clock::now().monotonic + Duration::from_millis(millis)
    }

    #[test]
    fn it_goes_off_at_the_deadline_and_not_before() {
        let (mut alarm, mut poller) = alarm();
        for deadline in [Instant::from_nanos(0), in_millis(0), in_millis(5)] {
            alarm.set_deadline(Some(deadline)).expect("set");
            assert!(goes_off(&mut poller, EVENT_TIMEOUT));
            assert!(clock::now().monotonic >= deadline);
            alarm.on_went_off();
        }
    }

    #[test]
    fn it_follows_an_earlier_deadline_at_once_and_a_later_one_after_it_went_off() {
        let (mut alarm, mut poller) = alarm();
        alarm.set_deadline(Some(in_millis(3_600_000))).expect("set");
        assert!(!goes_off(&mut poller, NO_WAIT));
        alarm.set_deadline(Some(in_millis(1))).expect("set");
        let later = in_millis(20);
        alarm.set_deadline(Some(later)).expect("set");
        assert!(goes_off(&mut poller, EVENT_TIMEOUT));
        alarm.on_went_off();
        alarm.set_deadline(Some(later)).expect("set");
        assert!(goes_off(&mut poller, EVENT_TIMEOUT));
        assert!(clock::now().monotonic >= later);
    }

    #[test]
    fn it_follows_a_postponed_deadline_only_in_the_first_waits() {
        let (mut alarm, mut poller) = alarm();
        let soon = in_millis(50);
        alarm.set_deadline(Some(soon)).expect("set");
        let late = in_millis(3_600_000);
        alarm.set_deadline(Some(late)).expect("put off");
        assert!(!goes_off(&mut poller, Some(Duration::from_millis(100))));
        for _ in 0..super::FOLLOWED_WAITS {
            alarm.set_deadline(Some(late)).expect("left alone");
        }
        alarm.set_deadline(Some(in_millis(5))).expect("set");
        alarm.set_deadline(Some(late)).expect("left alone");
        assert!(goes_off(&mut poller, EVENT_TIMEOUT));
    }

    #[test]
    fn it_is_not_readable_without_a_deadline() {
        let (mut alarm, mut poller) = alarm();
        alarm.set_deadline(Some(in_millis(0))).expect("set");
        assert!(goes_off(&mut poller, EVENT_TIMEOUT));
        alarm.on_went_off();
        alarm.set_deadline(None).expect("unset");
        assert!(!goes_off(&mut poller, NO_WAIT));
    }
}
