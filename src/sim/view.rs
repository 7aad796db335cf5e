//! The world as its caller sees it.

use std::time::Duration;

use ring_codec::lab2::{Digest, Kind};

use super::outcome::{Outcome, Stats, Violation};
use super::subject::Subject;
use super::world::World;
use crate::driver::Driver;

impl<M: Subject> World<M> {
    /// The world's time, from its beginning.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// How many nodes there are, dead ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node's machine; `None`: its process is dead.
    #[must_use]
    pub fn machine(&self, at: usize) -> Option<&M> {
        self.nodes[at].driver.as_ref().map(Driver::machine)
    }

    /// The nodes whose processes are alive.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        let alive = |&at: &usize| self.nodes[at].driver.is_some();
        (0..self.nodes.len()).filter(alive)
    }

    /// The nodes that believe to hold a token. During a hand-over, giver and successor do.
    #[must_use]
    pub fn owners(&self) -> &[usize] {
        &self.owners
    }

    /// The owner with the strongest token.
    #[must_use]
    pub fn owner(&self) -> Option<usize> {
        let held = |&at: &usize| self.nodes[at].held.map(|token| (token, at));
        let strongest = self
            .owners
            .iter()
            .filter_map(held)
            .max_by(|(a, _), (b, _)| a.strength(b));
        strongest.map(|(_, at)| at)
    }

    /// Whether there is one token: all owners but the last of its chain have passed it on, and
    /// wait to hear of it.
    #[must_use]
    pub fn has_one_owner(&self) -> bool {
        let nodes = &self.nodes;
        let Some(first) = self.owners.first().and_then(|&at| nodes[at].held) else {
            return false;
        };
        let mut users = 0;
        self.owners.iter().all(|&at| {
            users += usize::from(nodes[at].may_use);
            users <= 1 && nodes[at].held.is_some_and(|held| held.same_chain(&first))
        })
    }

    /// Whether the tables of all live nodes are equal, and the digest that they have.
    #[must_use]
    pub fn common_digest(&self) -> Option<Digest> {
        let mut digests = self
            .live()
            .filter_map(|at| Some(self.machine(at)?.digest()));
        let first = digests.next()?;
        digests.all(|digest| digest == first).then_some(first)
    }

    /// How many frames of a kind were sent.
    #[must_use]
    pub fn sent(&self, kind: Kind) -> u64 {
        self.books.stats.sent(kind)
    }

    /// What happened so far.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.books.stats
    }

    /// What was broken so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.books.checks.violations
    }

    /// Whether there were so many violations that the world stands still.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// What the run has come to.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        for at in 0..self.nodes.len() {
            let members = self.machine(at).map(M::members_in_order);
            if let Some(members) = members {
                let max = self.constants.max_members;
                self.books.checks.table(self.now, at, members, max);
            }
        }
        let mut stats = self.books.stats;
        stats.time = Duration::from_nanos(self.now);
        stats.exempted = self.books.checks.exempted;
        Outcome {
            violations: self.books.checks.violations,
            stats,
        }
    }
}
