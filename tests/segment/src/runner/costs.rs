//! What each test costs, so that a slow one is noticed when it is new.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How many are named.
const NAMED: usize = 10;

/// How long each test took.
#[derive(Debug, Default)]
pub(crate) struct Costs(Mutex<Vec<(Duration, &'static str)>>);

impl Costs {
    pub(crate) fn add(&self, test: &'static str, cost: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((cost, test));
    }

    /// Names those that took longest, if they are not all.
    pub(crate) fn print(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() <= NAMED {
            return;
        }
        all.sort_unstable_by(|one, other| other.cmp(one));
        let total: Duration = all.iter().map(|(cost, _)| *cost).sum();
        println!("{:.0} s in all; the longest took", total.as_secs_f64());
        for (cost, test) in &all[..NAMED] {
            println!("{:6.1} s  {test}", cost.as_secs_f64());
        }
        println!();
    }
}
