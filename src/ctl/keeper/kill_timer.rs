//! What ends the keeper at the end of its lease if nothing else does: where all processes of a
//! machine stand still the kernel's clock goes on. The command goes with the keeper, see
//! [`Lifeline`](crate::sys::Lifeline).

use std::time::Duration;

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use ring_proto::time::Instant;

/// A timer of the kernel that kills this process, unless it is dropped before.
#[derive(Debug)]
pub(in crate::ctl) struct KillTimer(Timer);

impl KillTimer {
    /// One that is not lit.
    ///
    /// # Errors
    /// The kernel has no more timers for this user.
    pub(in crate::ctl) fn new() -> nix::Result<Self> {
        let notify = SigevNotify::SigevSignal {
            signal: Signal::SIGKILL,
            si_value: 0,
        };
        Timer::new(ClockId::CLOCK_BOOTTIME, SigEvent::new(notify)).map(Self)
    }

    /// Kills this process at `at`, instead of when it was said before.
    pub(in crate::ctl) fn set(&mut self, at: Instant) {
        let at = TimeSpec::from_duration(Duration::from_nanos(at.as_nanos().max(1)));
        // The kernel refuses times only that are none.
        let _ = self.0.set(
            Expiration::OneShot(at),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        );
    }
}
