//! A node's clocks. The clocks can run fast or slow, and the wall clock can be set.

use ring_proto::time::{Instant, Now};

/// The wall clock at the start of the simulation, in nanoseconds since 1970.
const WALL_START: i64 = 1_700_000_000_000_000_000;
const MILLION: i64 = 1_000_000;

/// One node's clocks, as functions of the simulated time in nanoseconds.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The time at which the current rate began: the simulated time, and the time of the node's clock.
    since: (u64, u64),
    /// The difference between the monotonic clock's rate and real time, in millionths.
    rate: i32,
    /// The error of the wall clock, in nanoseconds.
    wall_off: i64,
}

impl Clock {
    /// Returns a clock without errors whose monotonic clock starts at `epoch`.
    pub const fn new(epoch: u64) -> Self {
        Self {
            since: (0, epoch),
            rate: 0,
            wall_off: 0,
        }
    }

    /// Returns both clocks at a simulated time.
    pub fn now(&self, sim: u64) -> Now {
        let wall = WALL_START
            .saturating_add_unsigned(sim)
            .saturating_add(self.wall_off);
        Now {
            monotonic: self.monotonic(sim),
            wall: u64::try_from(wall).unwrap_or(0),
        }
    }

    /// Returns the monotonic clock at a simulated time.
    pub fn monotonic(&self, sim: u64) -> Instant {
        let passed = sim.saturating_sub(self.since.0);
        let passed = if self.rate == 0 {
            passed
        } else {
            scale(passed, MILLION + i64::from(self.rate), MILLION)
        };
        Instant::from_nanos(self.since.1.saturating_add(passed))
    }

    /// Returns the earliest simulated time at which the monotonic clock shows at least `local`.
    pub fn simulated_time_at(&self, local: Instant) -> u64 {
        let wanted = local.as_nanos().saturating_sub(self.since.1);
        if self.rate == 0 {
            return self.since.0.saturating_add(wanted);
        }
        let mut sim =
            self.since
                .0
                .saturating_add(scale(wanted, MILLION, MILLION + i64::from(self.rate)));
        while self.monotonic(sim) < local && sim < u64::MAX {
            sim += 1;
        }
        sim
    }

    /// Changes the rate of the monotonic clock.
    pub fn set_rate(&mut self, sim: u64, millionths: i32) {
        self.since = (sim, self.monotonic(sim).as_nanos());
        self.rate = millionths;
    }

    /// Sets the wall clock forward, or back by a negative number of nanoseconds.
    pub fn set_wall(&mut self, by: i64) {
        self.wall_off = self.wall_off.saturating_add(by);
    }
}

/// Returns `value` × `times` / `by`, rounded down; the factors are positive.
fn scale(value: u64, times: i64, by: i64) -> u64 {
    let times = u128::from(times.unsigned_abs());
    let by = u128::from(by.unsigned_abs().max(1));
    u64::try_from(u128::from(value) * times / by).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_comes_at_the_first_time_at_which_the_clock_shows_it() {
        for rate in [0, 1, -1, 137, -9_999, 10_000] {
            let mut clock = Clock::new(12_345);
            clock.set_rate(1_000, rate);
            for local in [12_345, 13_345, 13_346, 999_999_999, 60_000_000_000_u64] {
                let local = Instant::from_nanos(local);
                let sim = clock.simulated_time_at(local);
                assert!(clock.monotonic(sim) >= local, "{rate}");
                let before = clock.monotonic(sim.saturating_sub(1));
                assert!(sim <= 1_000 || before < local, "{rate}");
            }
        }
    }

    #[test]
    fn a_change_of_rate_makes_no_jump() {
        let mut clock = Clock::new(0);
        clock.set_rate(0, 10_000);
        assert_eq!(clock.monotonic(1_000_000).as_nanos(), 1_010_000);
        clock.set_rate(1_000_000, -10_000);
        assert_eq!(clock.monotonic(1_000_000).as_nanos(), 1_010_000);
        assert_eq!(clock.monotonic(2_000_000).as_nanos(), 2_000_000);
    }

    #[test]
    fn the_wall_clock_can_be_set_both_ways_but_not_before_1970() {
        let mut clock = Clock::new(0);
        clock.set_wall(-5);
        assert_eq!(clock.now(7).wall, 1_700_000_000_000_000_002);
        clock.set_wall(i64::MIN);
        assert_eq!(clock.now(7).wall, 0);
    }
}
