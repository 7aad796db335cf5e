//! How strong tokens are (`docs/jitterbug.md`, section 8).

use ring_codec::jitterbug::{Terms, TokenId};

/// How strong a token is: being followed comes before the id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rank {
    /// Whether other nodes follow it; `None`: its leader does not say.
    pub(crate) is_followed: Option<bool>,
    pub(crate) id: TokenId,
}

impl Rank {
    /// That of a token whose leader has said these terms.
    pub(crate) fn of(id: TokenId, terms: Option<Terms>) -> Self {
        Self {
            is_followed: terms.map(|terms| terms.is_followed),
            id,
        }
    }

    /// Whether it is stronger than another.
    pub(crate) fn is_above(self, other: Self) -> bool {
        match (self.is_followed, other.is_followed) {
            (Some(one), Some(other)) if one != other => one,
            _ => self.id.compare(other.id).is_gt(),
        }
    }
}
