//! The shortest times that can work on this machine and interface.

use std::thread;
use std::time::{Duration, Instant};

use ring_proto::lab2::{Constants, SHORTEST_HEARTBEAT, SHORTEST_TAKE_TIMEOUT};
use ring_runtime::net::Interface;

/// A heartbeat period lasts for so many wake-ups at least, or the members' patience counts the delays of the timer.
const WAKE_UPS: u32 = 2;
/// So many naps are measured. The shortest delay counts: a machine that is busy at the start is not refused.
const NAPS: u32 = 8;
const NAP: Duration = Duration::from_micros(50);
/// Bytes of a frame on the wire beyond its payload: header, checksum, preamble and gap.
const FRAMING: usize = 38;

/// The shortest times that can work, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortest {
    /// How much later than it asked for this process is woken up at least.
    wakes_within: Duration,
    /// How long the longest offer and its answer are on the wire.
    on_the_wire: Duration,
}

impl Shortest {
    /// Measures this machine, and asks the interface for its speed.
    pub(super) fn measure(interface: &Interface) -> Self {
        let nap = || {
            let begun = Instant::now();
            thread::sleep(NAP);
            begun.elapsed().saturating_sub(NAP)
        };
        let naps = (0..NAPS).map(|_| nap());
        Self {
            wakes_within: naps.min().unwrap_or_default(),
            on_the_wire: on_the_wire(interface.mtu, interface.speed()),
        }
    }

    /// Compares the times with the shortest that can work.
    ///
    /// # Errors
    /// Names the first that is too short, the reason, and the shortest.
    pub(super) fn check(&self, interface: &str, constants: &Constants) -> Result<(), String> {
        let wakes = self.wakes_within * WAKE_UPS;
        if constants.heartbeat < SHORTEST_HEARTBEAT.max(wakes) {
            let (given, least) = (constants.heartbeat, SHORTEST_HEARTBEAT.max(wakes));
            let why = if wakes > SHORTEST_HEARTBEAT {
                format!(
                    "this machine wakes a process up {} late",
                    short(self.wakes_within)
                )
            } else {
                "no owner announces itself more often".to_owned()
            };
            return Err(format!(
                "heartbeat of {} cannot work on {interface}: {why}; give --heartbeat {} or more",
                short(given),
                short(least)
            ));
        }
        let least = SHORTEST_TAKE_TIMEOUT.max(self.on_the_wire);
        if constants.take_timeout < least {
            return Err(format!(
                "take-timeout of {} cannot work on {interface}: an offer and its answer take {}; give --take-timeout {} \
                 or more, or a --heartbeat of which it is a part",
                short(constants.take_timeout),
                short(least),
                short(least)
            ));
        }
        Ok(())
    }
}

/// How long two of the longest frames are on the wire at so many Mbit/s.
fn on_the_wire(mtu: usize, speed: Option<u32>) -> Duration {
    let bits = u64::try_from(2 * 8 * (mtu + FRAMING)).unwrap_or(u64::MAX);
    let speed = speed.filter(|&speed| speed > 0);
    speed.map_or(Duration::ZERO, |speed| {
        Duration::from_nanos(bits.saturating_mul(1_000) / u64::from(speed))
    })
}

/// A time as an option takes it, rounded up.
fn short(time: Duration) -> String {
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

    use super::{Shortest, on_the_wire};

    const US: Duration = Duration::from_micros(1);

    fn check(shortest: Shortest, heartbeat: Duration) -> Result<(), String> {
        shortest.check("eth0", &Constants::for_heartbeat(heartbeat))
    }

    #[test]
    fn times_that_cannot_work_are_refused_with_the_shortest_that_can() {
        let usual = Shortest {
            wakes_within: 60 * US,
            on_the_wire: on_the_wire(1_500, Some(1_000)),
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
        let coarse = Shortest {
            wakes_within: 10_000 * US,
            on_the_wire: Duration::ZERO,
        };
        let error = check(coarse, 10_000 * US).unwrap_err();
        assert!(error.contains("wakes a process up 10ms late"), "{error}");
        assert!(error.contains("--heartbeat 20ms or"), "{error}");
        assert_eq!(check(coarse, 20_000 * US), Ok(()));
        let slow = Shortest {
            wakes_within: Duration::ZERO,
            on_the_wire: on_the_wire(1_500, Some(10)),
        };
        assert_eq!(slow.on_the_wire, Duration::from_nanos(2_460_800));
        let error = check(slow, 20_000 * US).unwrap_err();
        assert!(error.contains("take-timeout of 1ms cannot work"), "{error}");
        assert_eq!(check(slow, 50_000 * US), Ok(()));
    }

    #[test]
    fn an_interface_that_does_not_know_its_speed_is_not_asked_for_more() {
        assert_eq!(on_the_wire(1_500, None), Duration::ZERO);
        assert_eq!(on_the_wire(1_500, Some(0)), Duration::ZERO);
    }
}
