//! The counters of a node (`docs/board/status.md`).

use ring_codec::andrews::Kind;

use super::Reason;
use crate::counter_macros::counters;

counters! {
    /// Counts since the start of a node.
    pub struct Counters;
    arrays {
        dropped: Reason::ALL.len(),
        received: Kind::ALL.len(),
        sent: Kind::ALL.len(),
    }

    /// Removals of this node from the ring.
    removed,
    /// Nodes that this node removed from the ring.
    removals,
    /// Claims that were committed.
    claims,
    /// Tokens that this node made.
    tokens_made,
    /// Tokens that this node discarded, for example because a newer token was in use or because the node was removed.
    tokens_lost,
    /// Passes without an acknowledgement. After such a pass, the node took the token back.
    passes_failed,
    /// Posts of this node's clients that were committed.
    posts,
    /// Elections that this node started.
    elections_started,
    /// Elections that this node won.
    elections_won,
}

impl Counters {
    /// Returns how many frames were dropped for this reason.
    pub const fn drop_count(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Returns the number of received frames of this type that could be decoded, including dropped frames.
    pub const fn receive_count(&self, kind: Kind) -> u64 {
        self.received[place(kind)]
    }

    /// Returns how many frames of this type were handed to the network.
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

/// Returns the index of a type. Types are numbered from 1 without gaps.
const fn place(kind: Kind) -> usize {
    kind as usize - 1
}
