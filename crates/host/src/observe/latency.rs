//! How long hand-overs take.

use std::time::Duration;

use histogram::{Config, Histogram};
use ring_control::Percentiles;
use ring_proto::time::nanos;

/// Each figure is right to a thousandth; from 2^36 ns, 68 s, on none is kept. The bounds are fixed so that the
/// histogram never grows, and memory is used up only by what has happened: two pages for each power of two.
const FIGURES: Config = match Config::new(10, 36) {
    Ok(config) => config,
    Err(_) => panic!("the bounds are sound"),
};
/// The longest that is kept, in nanoseconds; longer ones count as this.
const HIGHEST: u64 = 60_000_000_000;
/// The least, the ones that are shown, and the most.
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];

/// Percentiles of hand-over latency since the start, up to 60 s.
#[derive(Debug)]
pub struct Latency(Histogram);

impl Latency {
    /// No hand-over yet. All memory is taken here.
    pub fn new() -> Self {
        Self(Histogram::with_config(&FIGURES))
    }

    /// A hand-over took `latency`.
    pub fn record(&mut self, latency: Duration) {
        let latency = nanos(latency).min(HIGHEST);
        // The histogram goes further.
        let _ = self.0.increment(latency);
    }

    /// The percentiles so far.
    pub fn percentiles(&self) -> Percentiles {
        let mut found = QUANTILES.map(|_| None);
        // Nothing is found if nothing was recorded; fails only for what is no quantile, or too little room.
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
    fn nothing_recorded_is_all_zero() {
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
    fn what_is_out_of_bounds_is_kept_at_the_bound() {
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
