//! The origin and the holders of each token, by the token's id. Nodes are identified by their numbers, because their
//! addresses may change.

use std::collections::{BTreeMap, BTreeSet};

use super::outcome::Excuse;

#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// The tokens that a restore has created.
    created: BTreeSet<u32>,
    /// The ids that two tokens may have at the same time, each with the reason.
    void: BTreeMap<u32, Excuse>,
    /// The tokens that nodes have accepted, until the givers know that their passes are done.
    accepted: Vec<AcceptedPass>,
    /// For each token: the nodes that held the token or announced that they follow it.
    holders: BTreeMap<u32, BTreeSet<usize>>,
    /// The token with which each node leads.
    leaders: BTreeMap<usize, u32>,
}

#[derive(Debug, PartialEq, Eq)]
struct AcceptedPass {
    id: u32,
    from: usize,
    by: usize,
}

impl Tokens {
    /// Records a won restore.
    pub(super) fn on_created(&mut self, id: u32) {
        if !self.created.insert(id) {
            // Two restores drew this id without hearing each other, so two such tokens may exist.
            self.void.insert(id, Excuse::EqualIds);
        }
    }

    /// Records that a node has a token, or announces that it follows the token.
    pub(super) fn on_held(&mut self, id: u32, node: usize) {
        self.holders.entry(id).or_default().insert(node);
    }

    /// Whether only the token's creator has ever held or followed the token.
    pub(super) fn is_lone(&self, id: u32) -> bool {
        let holders = self.holders.get(&id);
        self.created.contains(&id) && holders.is_some_and(|holders| holders.len() == 1)
    }

    /// Records a token that a stranger gave to a node.
    pub(super) fn on_forged(&mut self, id: u32) {
        self.void.insert(id, Excuse::Forged);
    }

    /// Returns the reason why two tokens may have this id.
    pub(super) fn excuse(&self, id: u32) -> Option<Excuse> {
        self.void.get(&id).copied()
    }

    /// Records the token of a leading node, or the end of its leadership.
    pub(super) fn on_leads(&mut self, node: usize, token: Option<u32>) {
        match token {
            Some(token) => self.leaders.insert(node, token),
            None => self.leaders.remove(&node),
        };
    }

    /// Records that a node has accepted a token. The giver may be dead, or may have given up the token. The end of the
    /// giver's pass counts only if the giver still has the token.
    pub(super) fn on_accepted(&mut self, id: u32, from: usize, by: usize) {
        if self.leaders.get(&from) == Some(&id) {
            self.accepted.push(AcceptedPass { id, from, by });
        }
    }

    /// Records the end of a giver's pass. Returns whether the candidate accepted the token.
    pub(super) fn on_pass_ended(&mut self, id: u32, from: usize, by: usize) -> bool {
        let pass = AcceptedPass { id, from, by };
        let place = self.accepted.iter().position(|it| *it == pass);
        place.map(|at| self.accepted.swap_remove(at)).is_some()
    }

    /// Forgets the passes of a dead node. The dead node cannot learn their results.
    pub(super) fn on_node_dead(&mut self, node: usize) {
        self.on_leads(node, None);
        self.accepted.retain(|it| it.from != node);
    }
}
