//! What is counted (`docs/board.md`, section 11).

use ring_codec::andrews::Kind;

use super::Reason;
use crate::counted::counters;

counters! {
    /// Numbers since the start of a node.
    pub struct Counters;
    arrays {
        dropped: Reason::ALL.len(),
        received: Kind::ALL.len(),
        sent: Kind::ALL.len(),
    }

    /// How often the rows said that this node is no longer in the ring.
    removed,
    /// Nodes that this node has taken out of the ring.
    removals,
    /// Claims that were committed.
    claims,
    /// Tokens made here.
    tokens_made,
    /// Tokens that were here and are forgotten: outrun, refused by the database, or with the node's place in the ring.
    tokens_lost,
    /// Passes without an acknowledgement: the token was taken back.
    passes_failed,
    /// Posts committed.
    posts,
    /// Elections started here.
    elections_started,
    /// Elections that this node has won.
    elections_won,
}

impl Counters {
    /// What was dropped for a reason.
    pub const fn dropped(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Frames of a type that were received, dropped or not: those that could be decoded.
    pub const fn received(&self, kind: Kind) -> u64 {
        self.received[place(kind)]
    }

    /// Frames of a type that were given to the network.
    pub const fn sent(&self, kind: Kind) -> u64 {
        self.sent[place(kind)]
    }

    pub(super) const fn note_dropped(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }

    pub(super) const fn note_received(&mut self, kind: Kind) {
        self.received[place(kind)] += 1;
    }

    pub(super) const fn note_sent(&mut self, kind: Kind) {
        self.sent[place(kind)] += 1;
    }
}

/// Kinds are numbered from 1, without a gap.
const fn place(kind: Kind) -> usize {
    kind as usize - 1
}
