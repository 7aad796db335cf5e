//! New token ids (`docs/jitterbug.md`, section 3).

use ring_codec::jitterbug::TokenId;

use crate::draw::Draw;

/// The first id of a node is at most so much.
const FIRST: u32 = 1 << 30;
/// A new id is above the old one by at most so much.
const STEP: u32 = 65_536;

/// The id of a node at its start, and the one after the largest.
pub(crate) fn first(draw: &mut Draw) -> TokenId {
    TokenId::new(1 + draw.below(FIRST), false).expect("1 to 2^30 is within 31 bits")
}

/// The id for the second try of a restore: nobody who knew the old one has a greater, but who draws at the same time.
pub(crate) fn next(id: TokenId, draw: &mut Draw) -> TokenId {
    let next = id.random().saturating_add(1 + draw.below(STEP));
    TokenId::new(next, false).unwrap_or_else(|| first(draw))
}
