//! Percentiles of the latency of handovers.

use std::time::Duration;

use histogram::{Config, Histogram};
use ring_control::Percentiles;
use ring_proto::time::nanos;

/// The configuration of the histogram. Values up to 2^36 ns (68 s) are exact to a thousandth. The bounds are fixed, so
/// the histogram never grows. Memory is used only for values that occur: two pages per power of two.
const HISTOGRAM_CONFIG: Config = match Config::new(10, 36) {
    Ok(config) => config,
    Err(_) => panic!("the bounds are valid"),
};
/// The maximum recorded value, in nanoseconds. A longer latency counts as this value.
const LATENCY_MAX_NS: u64 = 60_000_000_000;
/// The shown quantiles: the minimum, the percentiles and the maximum.
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];

/// A histogram of the latencies of all handovers since the start, up to 60 s.
#[derive(Debug)]
pub struct Latency(Histogram);

impl Latency {
    /// Makes an empty histogram and allocates all its memory.
    pub fn new() -> Self {
        Self(Histogram::with_config(&HISTOGRAM_CONFIG))
    }

    /// Records a handover.
    pub fn record(&mut self, latency: Duration) {
        let latency = nanos(latency).min(LATENCY_MAX_NS);
        // The call does not fail, because the value is within the histogram's bounds.
        let _ = self.0.increment(latency);
    }

    /// Returns the percentiles. If there was no handover, all percentiles are zero.
    pub fn percentiles(&self) -> Percentiles {
        let mut found = QUANTILES.map(|_| None);
        // The call fails only for invalid quantiles or a slice that is too short.
        let _ = self.0.quantile_buckets_into(&QUANTILES, &mut found);
        let [Some(min), Some(p50), Some(p90), Some(p99), Some(max)] = found else {
            return Percentiles::default();
        };
        Percentiles {
            min_ns: min.start(),
            p50_ns: p50.end(),
            p90_ns: p90.end(),
            p99_ns: p99.end(),
            max_ns: max.end(),
        }
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Latency;
    use ring_control::Percentiles;
    use std::time::Duration;

    #[test]
    fn without_records_all_percentiles_are_zero() {
        assert_eq!(Latency::new().percentiles(), Percentiles::default());
    }

    #[test]
    fn percentiles_are_right_to_a_thousandth() {
        let mut latency = Latency::new();
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
                found.abs_diff(expected) * 1_000 <= expected,
                "{found} {expected}"
            );
        }
    }

    #[test]
    fn values_out_of_bounds_count_as_the_bound() {
        let mut latency = Latency::new();
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
