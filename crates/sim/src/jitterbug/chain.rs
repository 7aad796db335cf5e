//! Tokens by their ids: where they came from, and who has them. Nodes are known by their numbers, whatever address they
//! have.

use std::collections::{BTreeMap, BTreeSet};

use super::outcome::Excuse;

/// All tokens that there were.
#[derive(Debug, Default)]
pub struct Chain {
    /// Those that a restore has made.
    made: BTreeSet<u32>,
    /// Those of which there may be two, and why.
    void: BTreeMap<u32, Excuse>,
    /// Tokens that nodes have accepted, in passes whose givers do not know it yet.
    accepted: Vec<Accepted>,
    /// Which nodes have had each token, or have said that they follow it.
    holders: BTreeMap<u32, BTreeSet<usize>>,
    /// With which token each node leads.
    leaders: BTreeMap<usize, u32>,
}

#[derive(Debug, PartialEq, Eq)]
struct Accepted {
    id: u32,
    from: usize,
    by: usize,
}

impl Chain {
    /// A restore was won.
    pub fn made(&mut self, id: u32) {
        if !self.made.insert(id) {
            self.void.insert(id, Excuse::EqualIds);
        }
    }

    /// A node has a token, or says that it follows it.
    pub fn held(&mut self, id: u32, node: usize) {
        self.holders.entry(id).or_default().insert(node);
    }

    /// Whether no other node than its maker has ever had a token or followed it.
    pub fn is_lone(&self, id: u32) -> bool {
        let holders = self.holders.get(&id);
        self.made.contains(&id) && holders.is_some_and(|holders| holders.len() == 1)
    }

    /// A stranger has given a node such a token.
    pub fn forged(&mut self, id: u32) {
        self.void.insert(id, Excuse::Forged);
    }

    /// Why there may be two of a token.
    pub fn excuse(&self, id: u32) -> Option<Excuse> {
        self.void.get(&id).copied()
    }

    /// A node leads with a token, or no longer leads.
    pub fn leads(&mut self, node: usize, token: Option<u32>) {
        match token {
            Some(token) => self.leaders.insert(node, token),
            None => self.leaders.remove(&node),
        };
    }

    /// A node has accepted a token. What becomes of the pass counts if the giver still has it: it may be dead, or have
    /// given it up.
    pub fn accepted(&mut self, id: u32, from: usize, by: usize) {
        if self.leaders.get(&from) == Some(&id) {
            self.accepted.push(Accepted { id, from, by });
        }
    }

    /// A giver's pass has ended. Whether the candidate has accepted the token.
    pub fn passed(&mut self, id: u32, from: usize, by: usize) -> bool {
        let pass = Accepted { id, from, by };
        let place = self.accepted.iter().position(|it| *it == pass);
        place.map(|at| self.accepted.swap_remove(at)).is_some()
    }

    /// A node is dead: it will not learn what became of its passes.
    pub fn forget(&mut self, node: usize) {
        self.leads(node, None);
        self.accepted.retain(|it| it.from != node);
    }
}
