//! Identity and order of tokens, and the digest of a member table.

use core::cmp::Ordering;
use core::fmt;

use crate::MacAddr;

/// A token. It names one tenure: `(progress, authorMAC, authorTokenNum)` (`docs/reference/lab2/states.md T1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// Number that grows with every handover, up to [`PROGRESS_MAX`](super::PROGRESS_MAX).
    pub progress: u64,
    /// The node that created the chain, or minted it after a failed handover.
    pub author: MacAddr,
    /// The author's number for the chain.
    pub number: u32,
}

impl Token {
    /// Returns `[~progress, authorMAC, authorTokenNum]`. The token with the smaller value is the stronger token.
    pub const fn priority(&self) -> [u8; 18] {
        let [p0, p1, p2, p3, p4, p5, p6, p7] = (!self.progress).to_be_bytes();
        let [a0, a1, a2, a3, a4, a5] = self.author.0;
        let [n0, n1, n2, n3] = self.number.to_be_bytes();
        [
            p0, p1, p2, p3, p4, p5, p6, p7, a0, a1, a2, a3, a4, a5, n0, n1, n2, n3,
        ]
    }

    /// Whether this token is stronger than `other`.
    pub fn is_stronger_than(&self, other: &Self) -> bool {
        self.strength(other) == Ordering::Greater
    }

    /// Compares by strength. The result is [`Ordering::Greater`] if this token is the stronger token.
    pub fn strength(&self, other: &Self) -> Ordering {
        self.progress
            .cmp(&other.progress)
            .then_with(|| other.author.cmp(&self.author))
            .then_with(|| other.number.cmp(&self.number))
    }

    /// Whether this token is at least as strong as `first`, and not stronger than `last`.
    pub fn is_between(&self, first: &Self, last: &Self) -> bool {
        !first.is_stronger_than(self) && !self.is_stronger_than(last)
    }

    /// Whether both tokens belong to the same chain: they have the same author and number.
    pub fn same_chain(&self, other: &Self) -> bool {
        self.author == other.author && self.number == other.number
    }
}

/// Writes `progress-author-number`, as in `1795-02:00:00:00:00:01-7`. A token is always written in this form.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            progress,
            author,
            number,
        } = self;
        write!(f, "{progress}-{author}-{number}")
    }
}

/// Size and hash of a member table (`docs/reference/lab2/membership.md M1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Digest {
    /// Number of members in the table.
    pub size: u32,
    /// XXH3-64 (seed 0) of the members' 22-byte encodings, in the order of their MAC addresses.
    pub hash: u64,
}
