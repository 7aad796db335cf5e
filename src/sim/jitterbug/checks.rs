//! What was broken, and what was excused.

use std::collections::BTreeSet;
use std::time::Duration;

use super::chain::Chain;
use super::exempt::Exempt;
use super::outcome::{Excuse, MAX_VIOLATIONS, Rule, Violation};

/// What is known of all nodes.
#[derive(Debug, Default)]
pub struct Checks {
    /// What was broken.
    pub violations: Vec<Violation>,
    /// How often something was excused.
    pub excused: [u64; Excuse::ALL.len()],
    /// What voids promises.
    pub exempt: Exempt,
    /// The tokens.
    pub chain: Chain,
    /// Pairs of nodes that use a token at the same time.
    clashes: BTreeSet<(usize, usize)>,
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

    /// Something must not be, but for an excuse.
    pub fn judge(
        &mut self,
        (at, node): (u64, usize),
        excuse: Option<Excuse>,
        rule: Rule,
        what: String,
    ) {
        match excuse {
            Some(excuse) => self.excuse(excuse),
            None => self.broken(at, Some(node), rule, what),
        }
    }

    /// Two nodes use tokens of these ids at the same time.
    pub fn clash(&mut self, at: u64, (node, id): (usize, u32), (other, its): (usize, u32)) {
        if !self.clashes.insert((node.min(other), node.max(other))) {
            return;
        }
        let is_void = self.chain.excuse(id).filter(|_| id == its);
        self.exempt.doubled = self.exempt.doubled.or(is_void);
        if id == its {
            let what = format!("n{node} and n{other} use {id}");
            self.judge((at, node), is_void, Rule::Chain, what);
        }
        // Nothing tells two tokens of one id apart: they do not become one.
        let network = self.exempt.is_disturbed.then_some(Excuse::Network);
        let excuse = network.or(is_void);
        let what = format!("n{node} uses {id}, and n{other} uses {its}");
        self.judge((at, node), excuse, Rule::OneLeader, what);
    }

    /// They no longer do.
    pub fn no_clash(&mut self, node: usize) {
        self.clashes
            .retain(|&(one, other)| one != node && other != node);
    }
}
