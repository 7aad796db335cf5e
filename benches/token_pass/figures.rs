//! Percentiles, ratios and the table of hops.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Header of the table in `docs/appendix/benchmarks/latency-budget.md`.
pub(crate) const TABLE_HEADER: &str = "\
| segment | floor p50 | floor p99 | hop p50 | hop p99 | hop ÷ floor, p50 | least to most | p99 | mean |
|---|---|---|---|---|---|---|---|---|";

/// Times of a rotation or a hop, in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub p50: f64,
    pub p99: f64,
    /// Mean: the total time divided by the number of rotations.
    pub mean: f64,
}

impl Figures {
    /// Makes the figures of `count` rotations. Together, these rotations took the time `all`.
    pub(crate) fn new(p50_ns: u64, p99_ns: u64, all: Duration, count: u64) -> Self {
        Self {
            p50: float(p50_ns),
            p99: float(p99_ns),
            mean: all.as_secs_f64() * 1e9 / float(count),
        }
    }

    /// Divides the figures of a rotation by the number of stations.
    pub(crate) fn per_hop(self, stations: usize) -> Self {
        let stations = float(stations as u64);
        Self {
            p50: self.p50 / stations,
            p99: self.p99 / stations,
            mean: self.mean / stations,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Row {
    floor: [f64; 2],
    ring: [f64; 2],
    ratio: [f64; 3],
    least_to_most: [f64; 2],
}

impl Row {
    /// Takes the medians over the pairs of floor and ring.
    pub(crate) fn new(pairs: &[(Figures, Figures)]) -> Self {
        let over = |value: fn(&(Figures, Figures)) -> f64| median(pairs.iter().map(value));
        let p50s = || pairs.iter().map(|(floor, ring)| ring.p50 / floor.p50);
        Self {
            floor: [over(|pair| pair.0.p50), over(|pair| pair.0.p99)],
            ring: [over(|pair| pair.1.p50), over(|pair| pair.1.p99)],
            ratio: [
                median(p50s()),
                over(|(floor, ring)| ring.p99 / floor.p99),
                over(|(floor, ring)| ring.mean / floor.mean),
            ],
            least_to_most: [
                p50s().fold(f64::INFINITY, f64::min),
                p50s().fold(0.0, f64::max),
            ],
        }
    }

    pub(crate) fn line(&self, name: &str) -> String {
        let us = |[p50, p99]: [f64; 2]| format!("{:.2} µs | {:.2} µs", p50 / 1000.0, p99 / 1000.0);
        let [p50, p99, mean] = self.ratio;
        let [least, most] = self.least_to_most;
        format!(
            "| {name} | {} | {} | **{p50:.3}** | {least:.3} to {most:.3} | {p99:.3} | {mean:.3} |",
            us(self.floor),
            us(self.ring)
        )
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn float(value: u64) -> f64 {
    value as f64
}
