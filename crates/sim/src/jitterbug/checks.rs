//! The checks, and the observations that they need.

use std::collections::BTreeSet;

use super::exemptions::Exemptions;
use super::outcome::{Excuse, Rule};
use super::tokens::Tokens;
use crate::kernel::checks::Findings;

#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) findings: Findings<Rule, Excuse>,
    /// The circumstances that excuse broken promises.
    pub(super) exemptions: Exemptions,
    pub(super) tokens: Tokens,
    /// The programs of dead processes. Each entry has the node, the node's token, and the simulated time until which
    /// the programs may run.
    left: Vec<(usize, u32, u64)>,
    /// Reported pairs of nodes that used a token at the same time.
    clashes: BTreeSet<(usize, usize)>,
}

impl Checks {
    /// Checks two nodes that use tokens with these ids at the same time.
    pub(super) fn check_clash(
        &mut self,
        at: u64,
        (node, id): (usize, u32),
        (other, its): (usize, u32),
    ) {
        if !self.clashes.insert((node.min(other), node.max(other))) {
            return;
        }
        let is_void = self.tokens.excuse(id).filter(|_| id == its);
        self.exemptions.doubled = self.exemptions.doubled.or(is_void);
        if id == its {
            let what = format!("n{node} and n{other} use {id}");
            self.findings
                .report_unless_excused(at, Some(node), is_void, Rule::Chain, what);
        }
        // Two tokens with the same id cannot be distinguished, so they do not merge.
        let network = self.exemptions.is_disturbed.then_some(Excuse::Network);
        let excuse = network.or(is_void);
        let what = format!("n{node} uses {id}, and n{other} uses {its}");
        self.findings
            .report_unless_excused(at, Some(node), excuse, Rule::OneLeader, what);
    }

    /// Records that the programs of a dead process may use a token until a certain time.
    pub(super) fn leave_behind(&mut self, node: usize, id: u32, until: u64) {
        self.left.push((node, id, until));
    }

    /// Checks that no node uses a token during the lease of a dead process.
    pub(super) fn check_left_programs(&mut self, at: u64, (node, id): (usize, u32)) {
        self.left.retain(|(_, _, until)| *until > at);
        let left = self.left.iter().find(|(other, _, _)| *other != node);
        if let Some(&(other, its, _)) = left {
            self.report_lasting_lease(at, (node, id), (other, its));
        }
    }

    /// Reports that a node uses a token while a dead node's lease lasts.
    pub(super) fn report_lasting_lease(
        &mut self,
        at: u64,
        (node, id): (usize, u32),
        (other, its): (usize, u32),
    ) {
        let network = self.exemptions.is_disturbed.then_some(Excuse::Network);
        let excuse = network
            .or(self.tokens.excuse(id))
            .or(self.tokens.excuse(its));
        let what = format!("n{node} uses {id}, and the lease of n{other} for {its} lasts");
        self.findings
            .report_unless_excused(at, Some(node), excuse, Rule::Lease, what);
    }

    /// Forgets the pairs of a node that no longer uses a token.
    pub(super) fn clear_clashes(&mut self, node: usize) {
        self.clashes
            .retain(|&(one, other)| one != node && other != node);
    }
}
