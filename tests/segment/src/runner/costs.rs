//! Records the time of each test, so that developers notice a new slow test.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Test;

/// Number of slow tests whose names are printed.
const SLOWEST_SHOWN: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct Costs(Mutex<Vec<(Duration, Test)>>);

impl Costs {
    pub(crate) fn add(&self, test: Test, cost: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((cost, test));
    }

    /// Prints the slowest tests, and separately the slowest exclusive tests. Prints nothing if only a few tests ran.
    pub(crate) fn print(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() <= SLOWEST_SHOWN {
            return;
        }
        all.sort_unstable_by_key(|(cost, _)| Reverse(*cost));
        for (how, is_alone) in [("beside others", false), ("alone", true)] {
            let those = || all.iter().filter(|it| it.1.is_exclusive() == is_alone);
            let total: Duration = those().map(|(cost, _)| *cost).sum();
            if !total.is_zero() {
                println!(
                    "{:.0} s of tests {how}; the longest took",
                    total.as_secs_f64()
                );
            }
            for (cost, test) in those().take(SLOWEST_SHOWN) {
                println!("{:6.1} s  {}", cost.as_secs_f64(), test.name());
            }
        }
        println!();
    }
}
