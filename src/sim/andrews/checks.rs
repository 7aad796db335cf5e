//! What was broken, and what was excused.

use std::time::Duration;

use super::outcome::{Excuse, MAX_VIOLATIONS, Rule, Violation};

/// What is known of all nodes.
#[derive(Debug, Default)]
pub struct Checks {
    /// What was broken.
    pub violations: Vec<Violation>,
    /// How often something was excused.
    pub excused: [u64; Excuse::ALL.len()],
}

impl Checks {
    pub fn broken(&mut self, at: u64, node: Option<usize>, rule: Rule, what: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(Violation {
                at: Duration::from_nanos(at),
                node,
                rule,
                what,
            });
        }
    }

    pub const fn is_enough(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }

    pub const fn excuse(&mut self, excuse: Excuse) {
        self.excused[excuse as usize] += 1;
    }
}
