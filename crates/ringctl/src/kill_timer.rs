//! A kernel timer that kills the keeper at the end of its lease. The timer works even if all processes of the machine
//! are stopped, because the kernel handles it. When the keeper is killed, the kernel also kills the command (see
//! [`Lifeline`](ring_process::Lifeline)).

use std::time::Duration;

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use ring_proto::time::Instant;

/// A kernel timer that kills this process. Dropping the timer disarms it.
#[derive(Debug)]
pub(super) struct KillTimer(Timer);

impl KillTimer {
    pub(super) fn new() -> nix::Result<Self> {
        let notify = SigevNotify::SigevSignal {
            signal: Signal::SIGKILL,
            si_value: 0,
        };
        Timer::new(ClockId::CLOCK_BOOTTIME, SigEvent::new(notify)).map(Self)
    }

    /// Arms the timer for `at`. The new time replaces the time of the last call.
    pub(super) fn set(&mut self, at: Instant) {
        let at = TimeSpec::from_duration(Duration::from_nanos(at.as_nanos().max(1)));
        // Setting the timer fails only for invalid times.
        let _ = self.0.set(
            Expiration::OneShot(at),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        );
    }
}
