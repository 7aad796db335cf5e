//! New token ids (`docs/jitterbug/protocol/restore.md` R4).

use ring_codec::jitterbug::TokenId;

use crate::random::RandomNumbers;

// Half of all ids remain above the first id, so that many restores can draw larger ids.
const FIRST_ID_MAX: u32 = 1 << 30;
/// The maximum difference between a new id and the old id.
const ID_STEP_MAX: u32 = 65_536;

/// Draws the first id of a node, or the id that follows the largest id.
pub(crate) fn first(draw: &mut RandomNumbers) -> TokenId {
    TokenId::new(1 + draw.next_below(FIRST_ID_MAX), false).expect("1 to 2^30 is within 31 bits")
}

/// Draws the id for the second try of a restore. The new id is larger than the id of each node that knew the old id and
/// draws no new id now.
pub(crate) fn next(id: TokenId, draw: &mut RandomNumbers) -> TokenId {
    let next = id.random().saturating_add(1 + draw.next_below(ID_STEP_MAX));
    TokenId::new(next, false).unwrap_or_else(|| first(draw))
}
