//! Being woken up in time, at the least cost.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use ring_proto::time::Instant;

/// Readable once a deadline has come, or an earlier one that was given up.
///
/// Deadlines are mostly put off: every frame gives the token's members patience anew. Setting the
/// hardware's timer and taking it back costs more than the rest of a hop where the machine is a
/// virtual one. So where waits are many, an alarm that is set is left alone until it goes off, and
/// only then is it set to what has become of the deadline. Where they are few, a wake-up for
/// nothing would cost more than what it saves: the first few waits after it went off do put it off.
#[derive(Debug)]
pub struct Alarm {
    timer: TimerFd,
    /// When it goes off; `None`: not at all, or it has.
    set: Option<Instant>,
    /// It has gone off, and is readable until it is set again.
    off: bool,
    /// Waits since it went off.
    waits: u32,
}

/// Waits after it went off for which an alarm follows every change of the deadline: more than a
/// turn of the token takes at rest, and few beside those of a rotation without a pause.
const FOLLOWED: u32 = 8;

impl Alarm {
    /// An alarm that is not set, on the clock of [`clock::now`](crate::clock::now).
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Ok(Self {
            timer: TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?,
            set: None,
            off: false,
            waits: 0,
        })
    }

    /// Makes it go off by `deadline`, perhaps earlier. `None`: there is none.
    ///
    /// # Errors
    /// None on a healthy system.
    pub fn by(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.waits = self.waits.saturating_add(1);
        let followed = self.waits <= FOLLOWED;
        let moves = |deadline, set| deadline < set || (followed && deadline > set);
        match deadline {
            Some(deadline) if self.set.is_none_or(|set| moves(deadline, set)) => {
                // Zero would mean never.
                let at = Duration::from_nanos(deadline.as_nanos().max(1));
                let expiration = Expiration::OneShot(TimeSpec::from(at));
                let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
                self.timer.set(expiration, flags)?;
                self.set = Some(deadline);
            }
            None if self.off => self.timer.unset()?,
            _ => return Ok(()),
        }
        self.off = false;
        Ok(())
    }

    /// Notes that it was found readable.
    pub fn went_off(&mut self) {
        self.set = None;
        self.off = true;
        self.waits = 0;
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

    /// How long something that must happen may take.
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));
    const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

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
            alarm.by(Some(deadline)).expect("set");
            assert!(goes_off(&mut poller, PATIENCE));
            assert!(clock::now().monotonic >= deadline);
            alarm.went_off();
        }
    }

    #[test]
    fn an_earlier_deadline_counts_and_a_later_one_waits_for_its_turn() {
        let (mut alarm, mut poller) = alarm();
        alarm.by(Some(in_millis(3_600_000))).expect("set");
        assert!(!goes_off(&mut poller, AT_ONCE));
        alarm.by(Some(in_millis(1))).expect("set");
        let later = in_millis(20);
        alarm.by(Some(later)).expect("set");
        assert!(goes_off(&mut poller, PATIENCE));
        alarm.went_off();
        alarm.by(Some(later)).expect("set");
        assert!(goes_off(&mut poller, PATIENCE));
        assert!(clock::now().monotonic >= later);
    }

    #[test]
    fn it_follows_a_deadline_that_is_put_off_for_the_first_few_waits_only() {
        let (mut alarm, mut poller) = alarm();
        let soon = in_millis(50);
        alarm.by(Some(soon)).expect("set");
        let late = in_millis(3_600_000);
        alarm.by(Some(late)).expect("put off");
        assert!(!goes_off(&mut poller, Some(Duration::from_millis(100))));
        for _ in 0..super::FOLLOWED {
            alarm.by(Some(late)).expect("left alone");
        }
        alarm.by(Some(in_millis(5))).expect("set");
        alarm.by(Some(late)).expect("left alone");
        assert!(goes_off(&mut poller, PATIENCE));
    }

    #[test]
    fn it_falls_silent_when_there_is_no_deadline_any_more() {
        let (mut alarm, mut poller) = alarm();
        alarm.by(Some(in_millis(0))).expect("set");
        assert!(goes_off(&mut poller, PATIENCE));
        alarm.went_off();
        alarm.by(None).expect("unset");
        assert!(!goes_off(&mut poller, AT_ONCE));
    }
}
