//! Determines the shortest times that work on this machine and this interface.

use std::thread;
use std::time::{Duration, Instant};

use ring_proto::lab2::{Constants, HEARTBEAT_MIN, TAKE_TIMEOUT_MIN};
use ring_runtime::net::Interface;

/// Minimum number of wake-ups in a heartbeat period. With fewer wake-ups, delays of the timer would use up
/// WAITER_TIMEOUT.
const WAKE_UPS_PER_HEARTBEAT: u32 = 2;
/// Number of measured sleeps. The shortest delay of all sleeps counts, so that ringd accepts a machine that is busy
/// only at the start.
const NAP_COUNT: u32 = 8;
const NAP_TIME: Duration = Duration::from_micros(50);
/// Number of bytes on the wire in addition to a frame's payload: header, checksum, preamble and gap.
const FRAMING_LEN: usize = 38;

/// The shortest times that work.
#[derive(Debug, Clone, Copy)]
pub(super) struct MinimumTimes {
    /// Minimum delay of a wake-up of this process.
    wake_up_delay: Duration,
    /// Time that the longest offer and its answer need on the wire.
    wire_time: Duration,
}

impl MinimumTimes {
    /// Measures the delay of wake-ups on this machine, and reads the interface's speed.
    pub(super) fn measure(interface: &Interface) -> Self {
        let nap = || {
            let begun = Instant::now();
            thread::sleep(NAP_TIME);
            begun.elapsed().saturating_sub(NAP_TIME)
        };
        let naps = (0..NAP_COUNT).map(|_| nap());
        Self {
            wake_up_delay: naps.min().unwrap_or_default(),
            wire_time: wire_time(interface.mtu, interface.speed()),
        }
    }

    /// Checks that the times are long enough to work.
    ///
    /// # Errors
    /// Returns a text with the first option that is too short, the reason, and the shortest value.
    pub(super) fn check(&self, interface: &str, constants: &Constants) -> Result<(), String> {
        let wakes = self.wake_up_delay * WAKE_UPS_PER_HEARTBEAT;
        if constants.heartbeat < HEARTBEAT_MIN.max(wakes) {
            let (given, least) = (constants.heartbeat, HEARTBEAT_MIN.max(wakes));
            let why = if wakes > HEARTBEAT_MIN {
                format!(
                    "this machine wakes a process up {} late",
                    format_option(self.wake_up_delay)
                )
            } else {
                "an owner cannot announce itself more often".to_owned()
            };
            return Err(format!(
                "heartbeat of {} cannot work on {interface}: {why}; set --heartbeat {} or more",
                format_option(given),
                format_option(least)
            ));
        }
        let least = TAKE_TIMEOUT_MIN.max(self.wire_time);
        if constants.take_timeout < least {
            return Err(format!(
                "take-timeout of {} cannot work on {interface}: an offer and its answer take {}; set --take-timeout \
                 {} or more, or a longer --heartbeat",
                format_option(constants.take_timeout),
                format_option(least),
                format_option(least)
            ));
        }
        Ok(())
    }
}

/// Returns the time that two of the longest frames need on the wire, at a speed in Mbit/s.
fn wire_time(mtu: usize, speed: Option<u32>) -> Duration {
    let bits = u64::try_from(2 * 8 * (mtu + FRAMING_LEN)).unwrap_or(u64::MAX);
    let speed = speed.filter(|&speed| speed > 0);
    speed.map_or(Duration::ZERO, |speed| {
        Duration::from_nanos(bits.saturating_mul(1_000) / u64::from(speed))
    })
}

/// Formats a time as the value of an option, rounded up.
fn format_option(time: Duration) -> String {
    let micros = time.as_nanos().div_ceil(1_000);
    if micros.is_multiple_of(1_000) {
        format!("{}ms", micros / 1_000)
    } else {
        format!("{micros}us")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::lab2::Constants;

    use super::{MinimumTimes, wire_time};

    const US: Duration = Duration::from_micros(1);

    fn check(minimum_times: MinimumTimes, heartbeat: Duration) -> Result<(), String> {
        minimum_times.check("eth0", &Constants::for_heartbeat(heartbeat))
    }

    #[test]
    fn impossible_times_are_refused_with_the_shortest_possible_ones() {
        let usual = MinimumTimes {
            wake_up_delay: 60 * US,
            wire_time: wire_time(1_500, Some(1_000)),
        };
        assert_eq!(check(usual, 1_000 * US), Ok(()));
        for micros in [10, 100, 999] {
            let error = check(usual, micros * US).unwrap_err();
            assert!(
                error.contains("eth0") && error.contains("--heartbeat 1ms or"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_machine_with_a_coarse_timer_and_a_slow_interface_need_longer_times() {
        let coarse = MinimumTimes {
            wake_up_delay: 10_000 * US,
            wire_time: Duration::ZERO,
        };
        let error = check(coarse, 10_000 * US).unwrap_err();
        assert!(error.contains("wakes a process up 10ms late"), "{error}");
        assert!(error.contains("--heartbeat 20ms or"), "{error}");
        assert_eq!(check(coarse, 20_000 * US), Ok(()));
        let slow = MinimumTimes {
            wake_up_delay: Duration::ZERO,
            wire_time: wire_time(1_500, Some(10)),
        };
        assert_eq!(slow.wire_time, Duration::from_nanos(2_460_800));
        let error = check(slow, 20_000 * US).unwrap_err();
        assert!(error.contains("take-timeout of 1ms cannot work"), "{error}");
        assert_eq!(check(slow, 50_000 * US), Ok(()));
    }

    #[test]
    fn an_unknown_speed_does_not_matter() {
        assert_eq!(wire_time(1_500, None), Duration::ZERO);
        assert_eq!(wire_time(1_500, Some(0)), Duration::ZERO);
    }
}
