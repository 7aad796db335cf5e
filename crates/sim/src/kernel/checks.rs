//! What the checks of a run have found.

use std::collections::BTreeMap;
use std::time::Duration;

use super::stats::Stats;
use super::violation::{MAX_VIOLATIONS, Outcome, Violation};

/// What was broken, and what was excused.
#[derive(Debug)]
pub struct Found<R, E> {
    /// What was broken, in order of time.
    pub violations: Vec<Violation<R>>,
    /// How often something was excused.
    pub excused: BTreeMap<E, u64>,
}

impl<R, E> Default for Found<R, E> {
    fn default() -> Self {
        Self {
            violations: Vec::new(),
            excused: BTreeMap::new(),
        }
    }
}

impl<R, E: Ord> Found<R, E> {
    /// Notes a violation at a world's time, in nanoseconds; past [`MAX_VIOLATIONS`] of them, nothing.
    pub fn broken(&mut self, at: u64, node: Option<usize>, rule: R, what: String) {
        if !self.is_enough() {
            self.violations.push(Violation {
                at: Duration::from_nanos(at),
                node,
                rule,
                what,
            });
        }
    }

    /// Whether the run has shown what it can.
    pub const fn is_enough(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }

    /// Counts what is excused.
    pub fn excuse(&mut self, excuse: E) {
        *self.excused.entry(excuse).or_default() += 1;
    }

    /// What a run has come to that ends at a world's time, in nanoseconds.
    pub fn outcome<K, C>(self, mut stats: Stats<K, E, C>, now: u64) -> Outcome<R, Stats<K, E, C>> {
        stats.time = Duration::from_nanos(now);
        stats.excused = self.excused;
        Outcome {
            violations: self.violations,
            stats,
        }
    }

    /// Something must not be, but for an excuse.
    pub fn judge(
        &mut self,
        at: u64,
        node: Option<usize>,
        excuse: Option<E>,
        rule: R,
        what: String,
    ) {
        match excuse {
            Some(excuse) => self.excuse(excuse),
            None => self.broken(at, node, rule, what),
        }
    }
}
