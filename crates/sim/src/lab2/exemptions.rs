//! The only module in which a fault can excuse a broken rule.
//!
//! Each exemption is as narrow as the simulator's knowledge allows. Each exemption is an assumption in
//! `docs/contributors/simulator.md`. The checks ask for exemptions only after a rule is broken.

use std::collections::{BTreeMap, BTreeSet};

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

/// A chain of tokens: its author's address and number.
pub(super) type Chain = (MacAddr, u32);

pub(super) const fn chain(token: &Token) -> Chain {
    (token.author, token.number)
}

/// The rules that are void because of faults.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent exemptions, and not states of one thing"
)]
pub(super) struct Exemptions {
    shared_addresses: BTreeSet<MacAddr>,
    /// Addresses of nodes that lost their state file, with the last chain number that each node used before.
    stateless: BTreeMap<MacAddr, u32>,
    /// Nodes that lost their state file and may have accepted an old offer again.
    replayed_to: BTreeSet<MacAddr>,
    /// Whether bits of a token have flipped.
    has_flipped_bits: bool,
    /// Whether tokens may be ahead of the wall clocks.
    floor_is_void: bool,
    doubled_chains: BTreeSet<Chain>,
    /// The end of the time in which promises may be broken or may come from another node.
    void_until: u64,
    /// Whether stamps may be lost or wrong.
    stamps_are_void: bool,
    /// Whether records of named locks may be wrong.
    locks_are_void: bool,
    /// The end of the time in which leases of named locks may be void.
    locks_void_until: u64,
    /// Nodes whose clocks run at a wrong rate.
    drifting: BTreeSet<usize>,
}

impl Exemptions {
    /// Excuses the chains of an address that two nodes share. The protocol knows a station only by its address. So both
    /// nodes accept an offer to this address, and both number their chains with this address. If one of the two nodes
    /// authored a chain, or held it at that time, this chain may exist twice.
    pub(super) fn on_address_shared(&mut self, mac: MacAddr) {
        self.shared_addresses.insert(mac);
    }

    /// Whether the progress of a new token may be ahead of all clocks. This is allowed after bits of a token flipped.
    pub(super) const fn may_exceed_clock(&self) -> bool {
        self.has_flipped_bits
    }

    /// Whether two chains may have the same name, or one chain may have two different histories. A node that knows the
    /// stronger chain takes the other chain for an earlier part of the stronger chain. Such a node ignores an offer of
    /// the other chain's token, so this token is lost too.
    pub(super) fn may_names_clash(&self) -> bool {
        !self.shared_addresses.is_empty() || self.has_flipped_bits
    }

    /// Excuses the chains of a node that lost its state file. A node that lost its state file numbers its chains from 1
    /// again. `last` is the last number that the node used before. Because of the wall clock, the tokens that the node
    /// creates are ahead of earlier tokens ([`on_clock_set`](Self::on_clock_set)). Tokens that the node re-creates from
    /// a weak token are an exception ([`may_reuse_number`](Self::may_reuse_number)).
    pub(super) fn on_state_lost(&mut self, mac: MacAddr, last: u32) {
        let used = self.stateless.entry(mac).or_default();
        *used = last.max(*used);
    }

    /// Records that a wall clock is wrong. The progress of tokens carries the time of this clock to all nodes. So a
    /// node that loses its state file can now create a token that is behind its earlier tokens.
    pub(super) fn on_clock_set(&mut self) {
        self.floor_is_void = true;
    }

    /// Excuses an offer that is replayed to a node without its state file. The node cannot know that it accepted the
    /// same offer before. So the replayed token, and a token that is re-created from it, may exist twice.
    pub(super) fn on_offer_replayed(&mut self, to: MacAddr, token: &Token) {
        if self.stateless.contains_key(&to) {
            self.add_doubled_chain(token);
            self.replayed_to.insert(to);
        }
    }

    /// Excuses undetected flipped bits in a token, or in the address of an offer. Frames are not authenticated. So a
    /// token may exist that no node created, or two nodes may get an offer of the same chain. The progress of such a
    /// token may be ahead of all clocks ([`on_clock_set`](Self::on_clock_set)).
    pub(super) fn on_token_corrupted(&mut self, token: &Token) {
        self.floor_is_void = true;
        self.has_flipped_bits = true;
        self.add_doubled_chain(token);
    }

    /// Makes the checks ignore every promise until the time `until`. There are five reasons:
    ///
    /// - Bits flipped in a promise, or in a heartbeat that requests a promise.
    /// - Two stations share an address, and the author of a promise is known only by its address.
    /// - A node restarted with a shorter HEART_BEAT_PERIOD than before. So the node's earlier promise may last longer
    ///   than its silence after the restart.
    /// - The clock rate of a node has changed.
    /// - A node gets a different address while some node expects a wrong number of members.
    pub(super) fn void_promises(&mut self, until: u64) {
        self.void_until = self.void_until.max(until);
    }

    /// Records that a node's clock rate is outside the limit of the promises, or right again.
    pub(super) fn set_drifting(&mut self, node: usize, wrong: bool) {
        if wrong {
            self.drifting.insert(node);
        } else {
            self.drifting.remove(&node);
        }
    }

    /// Whether a node's clock rate is wrong.
    pub(super) fn is_drifting(&self, node: usize) -> bool {
        self.drifting.contains(&node)
    }

    /// Excuses undetected flipped bits in a stamp.
    pub(super) fn void_stamps(&mut self) {
        self.stamps_are_void = true;
    }

    /// Excuses undetected flipped bits in a record of a named lock, or in a table's version.
    pub(super) fn void_locks(&mut self) {
        self.locks_are_void = true;
    }

    /// Makes the checks ignore the leases of named locks until the time `until`.
    pub(super) fn void_locks_until(&mut self, until: u64) {
        self.locks_void_until = self.locks_void_until.max(until);
    }

    /// Whether records of named locks may be wrong.
    pub(super) const fn may_locks_be_wrong(&self) -> bool {
        self.locks_are_void
    }

    /// Whether two programs may hold a named lock at `now`, with these fencing tokens. This is allowed if there may be
    /// two quorums, or if tables may be wrong. It is also allowed if tokens may fail to show which of two quorums came
    /// later. Tokens may fail to show this after two nodes have shared an address, or if a created token may be behind
    /// earlier tokens.
    pub(super) fn may_hold_twice(&self, now: u64, one: &Token, other: &Token) -> bool {
        self.locks_are_void
            || now < self.locks_void_until
            || self.may_have_two_quorums(now, one, other)
            || self.may_names_clash()
            || self.floor_is_void && !self.stateless.is_empty()
    }

    /// Whether a job may run twice in a period that began at `began`. If a member loses its state file, it also loses
    /// its stamps, so a majority may no longer store the stamp. Two stations with the same address count as one member.
    /// If a wall clock was set while a node was down, a run may look older than it is.
    pub(super) fn may_run_again(&self, began: u64) -> bool {
        self.stamps_are_void
            || !self.stateless.is_empty()
            || self.may_names_clash()
            || self.floor_is_void
            || !self.drifting.is_empty()
            || began < self.void_until
    }

    /// Whether two nodes may have a quorum at `now` with these tokens. A promise ends when its chain appears at a
    /// different node. If the chain is or was in two places, its appearance at a different node proves nothing.
    pub(super) fn may_have_two_quorums(&self, now: u64, one: &Token, other: &Token) -> bool {
        let tainted = |token| self.doubled_chains.contains(&chain(token));
        // A node without its state file may reuse a chain's name. In this case, members confuse the new chain with the
        // old chain, and believe that the old chain has moved.
        let renamed = |token: &Token| {
            let last = self.stateless.get(&token.author);
            last.is_some_and(|&last| token.number <= last)
        };
        let is_void = now < self.void_until || !self.drifting.is_empty();
        is_void
            || [one, other]
                .into_iter()
                .any(|it| tainted(it) || renamed(it))
    }

    /// Whether a node with a quorum may lose its token to `other`. The node may lose its token if there are two
    /// quorums, or if one chain exists in two places.
    pub(super) fn may_lose_token(&self, now: u64, held: &Token, other: &Token) -> bool {
        self.may_have_two_quorums(now, held, other) || self.may_names_clash()
    }

    /// Records the holder of a token, because several holders may share an address.
    pub(super) fn on_token_held(&mut self, holder: MacAddr, token: &Token) {
        if !self.shared_addresses.is_empty() && self.shared_addresses.contains(&holder) {
            self.add_doubled_chain(token);
        }
    }

    fn add_doubled_chain(&mut self, token: &Token) {
        self.doubled_chains.insert(chain(token));
    }

    /// Whether a tenure may have the same identity as another tenure (invariants 1 and 6).
    pub(super) fn may_repeat_identity(&self, token: &Token) -> bool {
        self.doubled_chains.contains(&chain(token))
            || self.shared_addresses.contains(&token.author)
            || self.replayed_to.contains(&token.author)
            || self.floor_is_void && self.stateless.contains_key(&token.author)
    }

    /// Whether a chain's number may be used again. In the same cases, a node may send a chain that has the node's
    /// address, although the node has not stored the chain. The reason: another node authored the chain, or this node
    /// has lost its state file.
    pub(super) fn may_reuse_number(&self, token: &Token) -> bool {
        self.doubled_chains.contains(&chain(token))
            || self.shared_addresses.contains(&token.author)
            || self.stateless.contains_key(&token.author)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    fn token(author: MacAddr, number: u32) -> Token {
        Token {
            progress: 9,
            author,
            number,
        }
    }

    #[test]
    fn without_a_fault_there_is_no_excuse() {
        let exemptions = Exemptions::default();
        assert!(
            !exemptions.may_repeat_identity(&token(A, 1))
                && !exemptions.may_reuse_number(&token(A, 1))
        );
    }

    #[test]
    fn a_shared_address_excuses_its_chains_and_those_that_went_through_it() {
        let mut exemptions = Exemptions::default();
        exemptions.on_token_held(A, &token(B, 4));
        assert!(!exemptions.may_repeat_identity(&token(B, 4)));
        exemptions.on_address_shared(A);
        exemptions.on_token_held(A, &token(B, 5));
        assert!(
            exemptions.may_repeat_identity(&token(A, 1))
                && exemptions.may_repeat_identity(&token(B, 5))
        );
        assert!(!exemptions.may_repeat_identity(&token(B, 4)));
    }

    #[test]
    fn forgetting_excuses_identities_only_if_the_clocks_differ() {
        let mut exemptions = Exemptions::default();
        exemptions.on_state_lost(A, 1);
        assert!(
            !exemptions.may_repeat_identity(&token(A, 1))
                && exemptions.may_reuse_number(&token(A, 1))
        );
        exemptions.on_clock_set();
        assert!(
            exemptions.may_repeat_identity(&token(A, 1))
                && !exemptions.may_repeat_identity(&token(B, 1))
        );
    }

    #[test]
    fn forgetting_excuses_quorums_of_chains_whose_number_may_come_again() {
        let mut exemptions = Exemptions::default();
        exemptions.on_state_lost(A, 2);
        assert!(exemptions.may_have_two_quorums(0, &token(A, 2), &token(B, 1)));
        assert!(exemptions.may_have_two_quorums(0, &token(B, 1), &token(A, 1)));
        assert!(!exemptions.may_have_two_quorums(0, &token(A, 3), &token(B, 1)));
    }

    #[test]
    fn an_old_offer_excuses_its_chain_if_its_receiver_has_forgotten() {
        let mut exemptions = Exemptions::default();
        exemptions.on_offer_replayed(A, &token(B, 1));
        assert!(!exemptions.may_repeat_identity(&token(B, 1)));
        exemptions.on_state_lost(A, 1);
        exemptions.on_offer_replayed(A, &token(B, 1));
        assert!(
            exemptions.may_repeat_identity(&token(B, 1))
                && !exemptions.may_repeat_identity(&token(B, 2))
        );
        assert!(exemptions.may_repeat_identity(&token(A, 1)));
    }
}
