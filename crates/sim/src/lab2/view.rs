//! The world as its caller sees it.

use ring_codec::lab2::{Digest, Kind};

use super::Subject;
use super::outcome::{Outcome, Stats, Violation};
use super::ring::{Ring, World};

impl<M: Subject> World<M> {
    /// The nodes that believe to hold a token. During a hand-over, giver and successor do.
    pub fn owners(&self) -> &[usize] {
        &self.system.owners
    }

    /// The owner with the strongest token.
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

    /// Whether there is one token: all owners but the last of its chain have passed it on, and
    /// wait to hear of it.
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

    /// Whether the tables of all live nodes are equal, and the digest that they have.
    pub fn common_digest(&self) -> Option<Digest> {
        let mut digests = self
            .live()
            .filter_map(|at| Some(self.machine(at)?.digest()));
        let first = digests.next()?;
        digests.all(|digest| digest == first).then_some(first)
    }

    /// How many frames of a kind were sent.
    pub fn sent(&self, kind: Kind) -> u64 {
        self.system.stats.sent(kind.name())
    }

    /// How many of them to all.
    pub fn broadcasts(&self, kind: Kind) -> u64 {
        let count = self.system.broadcast.get(kind.name());
        count.copied().unwrap_or(0)
    }

    /// What happened so far.
    pub fn stats(&self) -> &Stats {
        &self.system.stats
    }

    /// What was broken so far.
    pub fn violations(&self) -> &[Violation] {
        &self.system.checks.found.violations
    }

    /// What the run has come to.
    pub fn finish(mut self) -> Outcome {
        for at in 0..self.nodes.len() {
            let members = self.machine(at).map(M::members_in_order);
            if let Some(members) = members {
                let max = self.system.constants.max_members;
                self.system.checks.table(self.now, at, members, max);
            }
        }
        let Ring {
            checks, mut stats, ..
        } = self.system;
        stats.counters.exempted = checks.exempted;
        checks.found.outcome(stats, self.now)
    }
}
