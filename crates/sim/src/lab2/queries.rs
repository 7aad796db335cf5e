//! Queries of a simulation.

use ring_codec::lab2::{Digest, Kind};

use super::Inspect;
use super::outcome::{Outcome, Stats, Violation};
use super::system::{Lab2System, World};

impl<M: Inspect> World<M> {
    /// Returns the nodes that hold a token. During a handover, the giver and the successor hold a token.
    pub fn owners(&self) -> &[usize] {
        &self.system.owners
    }

    /// Returns the owner with the strongest token.
    pub fn owner(&self) -> Option<usize> {
        let held = |&at: &usize| self.nodes[at].own.held.map(|token| (token, at));
        let strongest = self
            .system
            .owners
            .iter()
            .filter_map(held)
            .max_by(|(a, _), (b, _)| a.strength(b));
        strongest.map(|(_, at)| at)
    }

    /// Whether exactly one token exists. All owners must have the same chain, and only one owner may use the token. The
    /// other owners have offered the token and wait for an answer.
    pub fn has_one_owner(&self) -> bool {
        let nodes = &self.nodes;
        let Some(first) = self
            .system
            .owners
            .first()
            .and_then(|&at| nodes[at].own.held)
        else {
            return false;
        };
        let mut users = 0;
        self.system.owners.iter().all(|&at| {
            users += usize::from(nodes[at].own.may_use);
            users <= 1
                && nodes[at]
                    .own
                    .held
                    .is_some_and(|held| held.same_chain(&first))
        })
    }

    /// Returns the digest of all live nodes' tables if they are equal.
    pub fn common_digest(&self) -> Option<Digest> {
        let mut digests = self
            .live()
            .filter_map(|at| Some(self.machine(at)?.digest()));
        let first = digests.next()?;
        digests.all(|digest| digest == first).then_some(first)
    }

    /// Returns the number of frames of a kind that nodes have sent.
    pub fn sent(&self, kind: Kind) -> u64 {
        self.system.stats.sent(kind.name())
    }

    /// Returns the number of broadcasts of a kind that nodes have sent.
    pub fn broadcasts(&self, kind: Kind) -> u64 {
        let count = self.system.broadcast.get(kind.name());
        count.copied().unwrap_or(0)
    }

    /// Returns the counters.
    pub fn stats(&self) -> &Stats {
        &self.system.stats
    }

    /// Returns the violations.
    pub fn violations(&self) -> &[Violation] {
        &self.system.checks.findings.violations
    }

    /// Ends the run and returns its outcome.
    pub fn finish(mut self) -> Outcome {
        self.check_surveys();
        for at in 0..self.nodes.len() {
            let members = self.machine(at).map(M::members_in_order);
            if let Some(members) = members {
                let max = self.system.constants.max_members;
                self.system.checks.check_table(self.now, at, members, max);
            }
        }
        let Lab2System {
            checks, mut stats, ..
        } = self.system;
        stats.counters.exempted = checks.exempted;
        checks.findings.outcome(stats, self.now)
    }
}
