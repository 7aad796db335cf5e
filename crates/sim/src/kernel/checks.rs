//! The violations and excuses that the checks of a run find.

use std::collections::BTreeMap;
use std::time::Duration;

use super::stats::Stats;
use super::violation::{MAX_VIOLATIONS, Outcome, Violation};

#[derive(Debug)]
pub(crate) struct Findings<R, E> {
    pub(crate) violations: Vec<Violation<R>>,
    /// Number of times that each excuse was used.
    pub(crate) excused: BTreeMap<E, u64>,
}

impl<R, E> Default for Findings<R, E> {
    fn default() -> Self {
        Self {
            violations: Vec::new(),
            excused: BTreeMap::new(),
        }
    }
}

impl<R, E: Ord> Findings<R, E> {
    /// Records a violation at a simulated time in nanoseconds. Records at most [`MAX_VIOLATIONS`] violations.
    pub(crate) fn report(&mut self, at: u64, node: Option<usize>, rule: R, details: String) {
        if !self.is_enough() {
            self.violations.push(Violation {
                at: Duration::from_nanos(at),
                node,
                rule,
                details,
            });
        }
    }

    /// Whether the run has [`MAX_VIOLATIONS`] violations and can end.
    pub(crate) const fn is_enough(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }

    pub(crate) fn excuse(&mut self, excuse: E) {
        *self.excused.entry(excuse).or_default() += 1;
    }

    /// Returns the outcome of a run that ends at a simulated time in nanoseconds.
    pub(crate) fn outcome<K, C>(
        self,
        mut stats: Stats<K, E, C>,
        now: u64,
    ) -> Outcome<R, Stats<K, E, C>> {
        stats.time = Duration::from_nanos(now);
        stats.excused = self.excused;
        Outcome {
            violations: self.violations,
            stats,
        }
    }

    /// Counts the excuse, or records a violation if there is no excuse.
    pub(crate) fn report_unless_excused(
        &mut self,
        at: u64,
        node: Option<usize>,
        excuse: Option<E>,
        rule: R,
        details: String,
    ) {
        match excuse {
            Some(excuse) => self.excuse(excuse),
            None => self.report(at, node, rule, details),
        }
    }
}
