//! The only place where a fault excuses what must hold otherwise.
//!
//! Each exemption names what it excuses as narrowly as the world can tell, and is an assumption
//! that `docs/simulation.md` lists. It is asked for only when something is broken already.

use std::collections::{BTreeMap, BTreeSet};

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

/// The author's address and number of a chain of tokens.
pub(super) type Chain = (MacAddr, u32);

pub(super) const fn chain(token: &Token) -> Chain {
    (token.author, token.number)
}

/// What the faults of a run have voided by nature.
#[derive(Debug, Default)]
pub(super) struct Exemptions {
    shared: BTreeSet<MacAddr>,
    /// The addresses of nodes that have lost their state file, and the last number that they had used by then.
    forgetful: BTreeMap<MacAddr, u32>,
    /// Forgetful nodes that may have lived some of their past once more.
    rewound: BTreeSet<MacAddr>,
    /// Bits of tokens have flipped.
    flipped: bool,
    /// Tokens may be ahead of a wall clock.
    floor_is_void: bool,
    tainted: BTreeSet<Chain>,
    /// Until then promises may be broken, or be somebody else's.
    void_until: u64,
    /// Stamps may be lost, or say what nobody has said.
    stamps_are_void: bool,
    /// Nodes whose clocks run at a wrong rate.
    drifting: BTreeSet<usize>,
}

impl Exemptions {
    /// Two nodes have this address. The protocol knows a station by its address alone: what is
    /// offered to one is taken by both, and both number their chains from the same address. So no
    /// chain that one of them authored, or held at that time, is the only one of its name.
    pub(super) fn share(&mut self, mac: MacAddr) {
        self.shared.insert(mac);
    }

    /// Whether a token that a node generates may be further ahead than a clock may take it: bits of one have
    /// flipped.
    pub(super) const fn progress(&self) -> bool {
        self.flipped
    }

    /// Whether two chains may have one name, or one chain two pasts. A node that knows the stronger
    /// takes the other for its past, and refuses it without a word to its holder: the token is lost
    /// once more, when it gets there.
    pub(super) fn names_clash(&self) -> bool {
        !self.shared.is_empty() || self.flipped
    }

    /// The node has lost its state file: it numbers its chains from 1 again. The wall clock keeps
    /// those that it generates ahead of its earlier ones, see [`set_clock`](Self::set_clock); those
    /// that it mints in place of a weak token not, see [`number`](Self::number). `last`: the last number that it has
    /// used.
    pub(super) fn forget(&mut self, mac: MacAddr, last: u32) {
        let used = self.forgetful.entry(mac).or_default();
        *used = last.max(*used);
    }

    /// A wall clock is no longer right. Tokens carry it to all nodes as their progress, so from
    /// now on a node that has lost its state file can be behind what it has forgotten.
    pub(super) fn set_clock(&mut self) {
        self.floor_is_void = true;
    }

    /// A node that has lost its state file was sent an offer captured earlier, which it may have
    /// accepted before: nothing is left that could tell it. What it accepts so is out for the
    /// second time, and so may be what it mints from that.
    pub(super) fn offer_again(&mut self, to: MacAddr, token: &Token) {
        if self.forgetful.contains_key(&to) {
            self.taint(token);
            self.rewound.insert(to);
        }
    }

    /// Bits of a token, or of the address that it goes to, flipped and no checksum noticed: a
    /// token that nobody made, or a chain that is offered to two. Frames are not authenticated. Its
    /// progress may be ahead of all clocks, see [`set_clock`](Self::set_clock).
    pub(super) fn corrupt(&mut self, token: &Token) {
        self.floor_is_void = true;
        self.flipped = true;
        self.taint(token);
    }

    /// Promises count for nothing until then. Bits of one, or of a heartbeat that asks for one, flipped
    /// and no checksum noticed; two stations shared an address, by which promises are known; or a node
    /// was started anew with a shorter HEART_BEAT_PERIOD, while all members have the same: what it
    /// promised before may last for longer than it is silent now.
    pub(super) fn void_promises(&mut self, until: u64) {
        self.void_until = self.void_until.max(until);
    }

    /// A node's clock runs at another rate than the promises count on, or at the right one again.
    pub(super) fn drift(&mut self, node: usize, wrong: bool) {
        if wrong {
            self.drifting.insert(node);
        } else {
            self.drifting.remove(&node);
        }
    }

    /// Whether a node's clock runs at a wrong rate.
    pub(super) fn drifts(&self, node: usize) -> bool {
        self.drifting.contains(&node)
    }

    /// Bits of a stamp flipped and no checksum noticed.
    pub(super) fn void_stamps(&mut self) {
        self.stamps_are_void = true;
    }

    /// Whether a job may be run twice in a period. A member that has lost its state file has lost the stamps in
    /// it: a majority that has stored one is no longer a majority. Two stations of one address count as one
    /// member, and a quorum that is void is none. A wall clock that was set while a node was down makes a run
    /// look older than it is.
    pub(super) fn once(&self, began: u64) -> bool {
        self.stamps_are_void
            || !self.forgetful.is_empty()
            || self.names_clash()
            || self.floor_is_void
            || !self.drifting.is_empty()
            || began < self.void_until
    }

    /// Whether two nodes may have a quorum at `now`, for these tokens. A promise ends when its chain is
    /// heard of elsewhere, which says nothing of a chain that is, or was, at two places.
    pub(super) fn quorum(&self, now: u64, one: &Token, other: &Token) -> bool {
        let tainted = |token| self.tainted.contains(&chain(token));
        // A node that has lost its state file may give a chain the name of an earlier one: members take the one
        // for the other, and believe that it has moved on.
        let renamed = |token: &Token| {
            let last = self.forgetful.get(&token.author);
            last.is_some_and(|&last| token.number <= last)
        };
        let is_void = now < self.void_until || !self.drifting.is_empty();
        is_void
            || [one, other]
                .into_iter()
                .any(|it| tainted(it) || renamed(it))
    }

    /// Whether a node with a quorum may lose its token to this one: there may be two quorums, or that token is one of its
    /// own chain, which is at two places.
    pub(super) fn loss(&self, now: u64, held: &Token, other: &Token) -> bool {
        self.quorum(now, held, other) || self.names_clash()
    }

    /// A node that shares its address holds this token.
    pub(super) fn hold(&mut self, holder: MacAddr, token: &Token) {
        if !self.shared.is_empty() && self.shared.contains(&holder) {
            self.taint(token);
        }
    }

    fn taint(&mut self, token: &Token) {
        self.tainted.insert(chain(token));
    }

    /// Whether a tenure may have the identity of another (invariants 1 and 6).
    pub(super) fn identity(&self, token: &Token) -> bool {
        self.tainted.contains(&chain(token))
            || self.shared.contains(&token.author)
            || self.rewound.contains(&token.author)
            || self.floor_is_void && self.forgetful.contains_key(&token.author)
    }

    /// Whether a chain's number may be used again, and a node tell of a chain of its own address
    /// that it has not stored: it is not the one that made it, or has forgotten that it did.
    pub(super) fn number(&self, token: &Token) -> bool {
        self.tainted.contains(&chain(token))
            || self.shared.contains(&token.author)
            || self.forgetful.contains_key(&token.author)
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
    fn nothing_is_excused_without_a_fault() {
        let exempt = Exemptions::default();
        assert!(!exempt.identity(&token(A, 1)) && !exempt.number(&token(A, 1)));
    }

    #[test]
    fn a_shared_address_excuses_its_chains_and_those_that_went_through_it() {
        let mut exempt = Exemptions::default();
        exempt.hold(A, &token(B, 4));
        assert!(!exempt.identity(&token(B, 4)));
        exempt.share(A);
        exempt.hold(A, &token(B, 5));
        assert!(exempt.identity(&token(A, 1)) && exempt.identity(&token(B, 5)));
        assert!(!exempt.identity(&token(B, 4)));
    }

    #[test]
    fn forgetting_excuses_identities_only_if_the_clocks_differ() {
        let mut exempt = Exemptions::default();
        exempt.forget(A, 1);
        assert!(!exempt.identity(&token(A, 1)) && exempt.number(&token(A, 1)));
        exempt.set_clock();
        assert!(exempt.identity(&token(A, 1)) && !exempt.identity(&token(B, 1)));
    }

    #[test]
    fn forgetting_excuses_quorums_of_chains_whose_number_may_come_again() {
        let mut exempt = Exemptions::default();
        exempt.forget(A, 2);
        assert!(exempt.quorum(0, &token(A, 2), &token(B, 1)));
        assert!(exempt.quorum(0, &token(B, 1), &token(A, 1)));
        assert!(!exempt.quorum(0, &token(A, 3), &token(B, 1)));
    }

    #[test]
    fn an_old_offer_excuses_its_chain_if_its_receiver_has_forgotten() {
        let mut exempt = Exemptions::default();
        exempt.offer_again(A, &token(B, 1));
        assert!(!exempt.identity(&token(B, 1)));
        exempt.forget(A, 1);
        exempt.offer_again(A, &token(B, 1));
        assert!(exempt.identity(&token(B, 1)) && !exempt.identity(&token(B, 2)));
        assert!(exempt.identity(&token(A, 1)));
    }
}
