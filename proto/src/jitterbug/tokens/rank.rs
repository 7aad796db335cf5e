//! The strength of tokens (`docs/jitterbug/protocol/announcements.md` N5).

use ring_codec::jitterbug::{Terms, TokenId};

/// The strength of a token. A followed token is stronger than a token without followers. Between two followed tokens,
/// or two tokens without followers, the token with the larger id is stronger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rank {
    /// Whether other nodes follow the token, or `None` if its leader sends no terms.
    pub(crate) is_followed: Option<bool>,
    pub(crate) id: TokenId,
}

impl Rank {
    /// Returns the strength of a token whose leader sent these terms.
    pub(crate) fn of(id: TokenId, terms: Option<Terms>) -> Self {
        Self {
            is_followed: terms.map(|terms| terms.is_followed),
            id,
        }
    }

    /// Whether this token is stronger than `other`.
    pub(crate) fn is_above(self, other: Self) -> bool {
        // A leader without terms cannot compare followers, so both leaders use the ids.
        match (self.is_followed, other.is_followed) {
            (Some(one), Some(other)) if one != other => one,
            _ => self.id.compare(other.id).is_gt(),
        }
    }
}
