//! What was broken, and what was excused.

use std::collections::BTreeSet;

use super::chain::Chain;
use super::exempt::Exempt;
use super::outcome::{Excuse, Rule};
use crate::kernel::checks::Found;

/// What is known of all nodes.
#[derive(Debug, Default)]
pub struct Checks {
    /// What was broken, and what was excused.
    pub found: Found<Rule, Excuse>,
    /// What voids promises.
    pub exempt: Exempt,
    /// The tokens.
    pub chain: Chain,
    /// Programs of dead processes: their node, their token, and until when they may run, by the world's time.
    left: Vec<(usize, u32, u64)>,
    /// Pairs of nodes that use a token at the same time.
    clashes: BTreeSet<(usize, usize)>,
}

impl Checks {
    /// Two nodes use tokens of these ids at the same time.
    pub fn clash(&mut self, at: u64, (node, id): (usize, u32), (other, its): (usize, u32)) {
        if !self.clashes.insert((node.min(other), node.max(other))) {
            return;
        }
        let is_void = self.chain.excuse(id).filter(|_| id == its);
        self.exempt.doubled = self.exempt.doubled.or(is_void);
        if id == its {
            let what = format!("n{node} and n{other} use {id}");
            self.found.judge(at, Some(node), is_void, Rule::Chain, what);
        }
        // Nothing tells two tokens of one id apart: they do not become one.
        let network = self.exempt.is_disturbed.then_some(Excuse::Network);
        let excuse = network.or(is_void);
        let what = format!("n{node} uses {id}, and n{other} uses {its}");
        self.found
            .judge(at, Some(node), excuse, Rule::OneLeader, what);
    }

    /// A process is dead whose programs may use a token until then.
    pub fn leave_behind(&mut self, node: usize, id: u32, until: u64) {
        self.left.push((node, id, until));
    }

    /// A node uses a token: no lease of another one may still last.
    pub fn look_at_left(&mut self, at: u64, (node, id): (usize, u32)) {
        self.left.retain(|(_, _, until)| *until > at);
        let left = self.left.iter().find(|(other, _, _)| *other != node);
        if let Some(&(other, its, _)) = left {
            self.lease_lasts(at, (node, id), (other, its));
        }
    }

    /// A node uses a token while the lease of another node lasts that does not run.
    pub fn lease_lasts(&mut self, at: u64, (node, id): (usize, u32), (other, its): (usize, u32)) {
        let network = self.exempt.is_disturbed.then_some(Excuse::Network);
        let excuse = network.or(self.chain.excuse(id)).or(self.chain.excuse(its));
        let what = format!("n{node} uses {id}, and the lease of n{other} for {its} lasts");
        self.found.judge(at, Some(node), excuse, Rule::Lease, what);
    }

    /// They no longer do.
    pub fn no_clash(&mut self, node: usize) {
        self.clashes
            .retain(|&(one, other)| one != node && other != node);
    }
}
