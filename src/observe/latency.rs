//! How long hand-overs take.

use std::time::Duration;

use hdrhistogram::{CreationError, Histogram};
use ring_proto::time::nanos;

use crate::control::Percentiles;

/// The finest difference that is kept, in nanoseconds: less than a hundredth of any rotation. The
/// bounds are fixed so that the histogram never grows.
const LOWEST: u64 = 16;
/// The longest that is kept, in nanoseconds; longer ones count as this.
const HIGHEST: u64 = 60_000_000_000;
/// Significant decimal digits of every figure.
const DIGITS: u8 = 3;

/// Percentiles of hand-over latency since the start, from 16 ns to 60 s.
#[derive(Debug)]
pub struct Latency(Histogram<u64>);

impl Latency {
    /// No hand-over yet. All memory is taken here.
    ///
    /// # Errors
    /// Never: the bounds are constants that the histogram can be made for.
    pub fn new() -> Result<Self, CreationError> {
        Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS).map(Self)
    }

    /// A hand-over took `latency`.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(nanos(latency));
    }

    /// The percentiles so far.
    #[must_use]
    pub fn percentiles(&self) -> Percentiles {
        if self.0.is_empty() {
            return Percentiles::default();
        }
        Percentiles {
            min_ns: self.0.min(),
            p50_ns: self.0.value_at_quantile(0.5),
            p90_ns: self.0.value_at_quantile(0.9),
            p99_ns: self.0.value_at_quantile(0.99),
            max_ns: self.0.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Latency;
    use crate::control::Percentiles;
    use std::time::Duration;

    #[test]
    fn nothing_recorded_is_all_zero() {
        assert_eq!(
            Latency::new().unwrap().percentiles(),
            Percentiles::default()
        );
    }

    #[test]
    fn percentiles_are_right_to_a_percent() {
        let mut latency = Latency::new().unwrap();
        for micros in 1..=1000 {
            latency.record(Duration::from_micros(micros));
        }
        let found = latency.percentiles();
        for (found, expected) in [
            (found.min_ns, 1_000),
            (found.p50_ns, 500_000),
            (found.p90_ns, 900_000),
            (found.p99_ns, 990_000),
            (found.max_ns, 1_000_000),
        ] {
            assert!(
                found.abs_diff(expected) * 100 <= expected.max(100_000),
                "{found} {expected}"
            );
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_kept_at_the_bound() {
        let mut latency = Latency::new().unwrap();
        latency.record(Duration::from_secs(3600));
        latency.record(Duration::ZERO);
        let found = latency.percentiles();
        assert!(
            found.max_ns.abs_diff(60_000_000_000) < 100_000_000,
            "{found:?}"
        );
        assert_eq!(found.min_ns, 0);
    }
}
