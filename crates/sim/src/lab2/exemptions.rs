//! The only place where a fault excuses a broken rule.
//!
//! Each exemption excuses as little as the simulator can tell, and is an assumption in `docs/simulation.md`. The
//! checks ask for exemptions only when a rule is broken already.

use std::collections::{BTreeMap, BTreeSet};

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

/// A chain of tokens: its author's address and number.
pub(super) type Chain = (MacAddr, u32);

pub(super) const fn chain(token: &Token) -> Chain {
    (token.author, token.number)
}

/// The rules that the faults of a run have voided.
#[derive(Debug, Default)]
pub(super) struct Exemptions {
    shared_addresses: BTreeSet<MacAddr>,
    /// Addresses of nodes that have lost their state file, with the last number that they had used.
    stateless: BTreeMap<MacAddr, u32>,
    /// Nodes that lost their state file and may have accepted an old offer again.
    replayed_to: BTreeSet<MacAddr>,
    /// Whether bits of a token have flipped.
    has_flipped_bits: bool,
    /// Whether tokens may be ahead of the wall clocks.
    floor_is_void: bool,
    doubled_chains: BTreeSet<Chain>,
    /// The time until which promises may be broken or come from another node.
    void_until: u64,
    /// Whether stamps may be lost or wrong.
    stamps_are_void: bool,
    /// Nodes whose clocks run at a wrong rate.
    drifting: BTreeSet<usize>,
}

impl Exemptions {
    /// Excuses the chains of an address that two nodes share. The protocol knows a station only by its address. So both
    /// accept an offer to one of them, and both number their chains under the same address. No chain that one of them
    /// authored, or held at that time, is unique.
    pub(super) fn on_address_shared(&mut self, mac: MacAddr) {
        self.shared_addresses.insert(mac);
    }

    /// Whether a created token may be further ahead than a clock may take it, because bits of a token have flipped.
    pub(super) const fn may_exceed_clock(&self) -> bool {
        self.has_flipped_bits
    }

    /// Whether two chains may have one name, or one chain two pasts. A node that knows the stronger chain takes the
    /// other for its past. It refuses that token without an answer to its holder, so the token is lost once more.
    pub(super) fn may_names_clash(&self) -> bool {
        !self.shared_addresses.is_empty() || self.has_flipped_bits
    }

    /// Excuses the chains of a node that has lost its state file and numbers them from 1 again. `last` is the last
    /// number that it had used. The wall clock keeps the tokens that it creates ahead of earlier ones
    /// ([`on_clock_set`](Self::on_clock_set)), but not those that it re-creates from a weak token ([`may_reuse_number`](Self::may_reuse_number)).
    pub(super) fn on_state_lost(&mut self, mac: MacAddr, last: u32) {
        let used = self.stateless.entry(mac).or_default();
        *used = last.max(*used);
    }

    /// Notes that a wall clock is wrong. Tokens carry it to all nodes as their progress. So a node that loses its state
    /// file can now create a token that is behind its earlier ones.
    pub(super) fn on_clock_set(&mut self) {
        self.floor_is_void = true;
    }

    /// Excuses an offer that is replayed to a node without its state file. The node cannot know that it has accepted
    /// the offer before. So this token, and one re-created from it, may exist twice.
    pub(super) fn on_offer_replayed(&mut self, to: MacAddr, token: &Token) {
        if self.stateless.contains_key(&to) {
            self.add_doubled_chain(token);
            self.replayed_to.insert(to);
        }
    }

    /// Excuses flipped bits in a token, or in the address of an offer, that no checksum has found. No node has created
    /// such a token, or one chain is offered to two nodes: frames are not authenticated. Its progress may be ahead of
    /// all clocks ([`on_clock_set`](Self::on_clock_set)).
    pub(super) fn on_token_corrupted(&mut self, token: &Token) {
        self.floor_is_void = true;
        self.has_flipped_bits = true;
        self.add_doubled_chain(token);
    }

    /// Voids all promises until a time. Bits of a promise, or of a heartbeat that asks for one, have flipped. Or two
    /// stations share an address, by which promises are known. Or a node was restarted with a shorter HEART_BEAT_PERIOD
    /// than the others, so its earlier promise may last longer than its silence does now.
    pub(super) fn void_promises(&mut self, until: u64) {
        self.void_until = self.void_until.max(until);
    }

    /// Notes that a node's clock rate is outside the promises' limit, or right again.
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

    /// Excuses flipped bits in a stamp that no checksum has found.
    pub(super) fn void_stamps(&mut self) {
        self.stamps_are_void = true;
    }

    /// Whether a job may run twice in a period that began at `began`. A member without its state file has lost the
    /// stamps in it, so a majority that had stored a stamp is none now. Two stations of one address count as one
    /// member. A wall clock that was set while a node was down makes a run look older.
    pub(super) fn may_run_again(&self, began: u64) -> bool {
        self.stamps_are_void
            || !self.stateless.is_empty()
            || self.may_names_clash()
            || self.floor_is_void
            || !self.drifting.is_empty()
            || began < self.void_until
    }

    /// Whether two nodes may have a quorum at `now` with these tokens. A promise ends when its chain is seen elsewhere,
    /// which proves nothing if the chain is, or was, in two places.
    pub(super) fn may_have_two_quorums(&self, now: u64, one: &Token, other: &Token) -> bool {
        let tainted = |token| self.doubled_chains.contains(&chain(token));
        // A node without its state file may reuse a chain's name. Members then take the new chain for the old one, and
        // believe that the old one has moved on.
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

    /// Whether a node with a quorum may lose its token to `other`: there may be two quorums, or one chain is in two
    /// places.
    pub(super) fn may_lose_token(&self, now: u64, held: &Token, other: &Token) -> bool {
        self.may_have_two_quorums(now, held, other) || self.may_names_clash()
    }

    /// Notes the holder of a token, for holders that share an address.
    pub(super) fn on_token_held(&mut self, holder: MacAddr, token: &Token) {
        if !self.shared_addresses.is_empty() && self.shared_addresses.contains(&holder) {
            self.add_doubled_chain(token);
        }
    }

    fn add_doubled_chain(&mut self, token: &Token) {
        self.doubled_chains.insert(chain(token));
    }

    /// Whether a tenure may have the identity of another (invariants 1 and 6).
    pub(super) fn may_repeat_identity(&self, token: &Token) -> bool {
        self.doubled_chains.contains(&chain(token))
            || self.shared_addresses.contains(&token.author)
            || self.replayed_to.contains(&token.author)
            || self.floor_is_void && self.stateless.contains_key(&token.author)
    }

    /// Whether a chain's number may be used again. Also whether a node may send a chain of its address that it has not
    /// stored: another node authored it, or this node has lost its state file.
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
