//! The token's id. Its sign states whether the sender leads.

use core::cmp::Ordering;

use zerocopy::byteorder::network_endian::I32;

use crate::{DecodeError, Field, Problem};

/// A token_id. The absolute value of the id is a random part of 31 bits that is never 0. The sign of the id is positive
/// if the sender holds the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId(i32);

impl TokenId {
    /// Creates an id from its random part. Returns `None` if the part is 0 or has more than 31 bits.
    pub const fn new(random: u32, is_leader: bool) -> Option<Self> {
        match random.cast_signed() {
            part @ 1.. if is_leader => Some(Self(part)),
            part @ 1.. => Some(Self(-part)),
            _ => None,
        }
    }

    /// Creates an id from the field's value. Returns `None` if the random part is 0 or does not fit 31 bits.
    pub const fn from_wire(value: i32) -> Option<Self> {
        match value {
            0 | i32::MIN => None,
            _ => Some(Self(value)),
        }
    }

    /// Returns the field's value: positive for a leader, negative for any other node.
    pub const fn to_wire(self) -> i32 {
        self.0
    }

    /// Returns the random part, 1 to 2^31 - 1.
    pub const fn random(self) -> u32 {
        self.0.unsigned_abs()
    }

    /// Whether the sender holds the token.
    pub const fn is_leader(self) -> bool {
        self.0 > 0
    }

    /// Returns the id of the same token, with the sign for a leader or the sign for any other node.
    pub const fn with_leader(self, is_leader: bool) -> Self {
        if is_leader {
            Self(self.0.abs())
        } else {
            Self(-self.0.abs())
        }
    }

    /// Compares the random parts. The sign is ignored, because it describes the sender and not the token.
    pub fn compare(self, other: Self) -> Ordering {
        self.random().cmp(&other.random())
    }

    /// Creates an id from the field at `offset`. Fails if the value is illegal.
    pub(super) fn from_field(field: I32, offset: usize) -> Result<Self, DecodeError> {
        let value = field.get();
        Self::from_wire(value).ok_or_else(|| {
            let value = value.into();
            DecodeError::new(Field::TokenId, offset, Problem::Illegal { value })
        })
    }
}

impl From<TokenId> for I32 {
    fn from(id: TokenId) -> Self {
        Self::new(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_part_has_31_bits_and_is_never_0() {
        for random in [0, 1 << 31, u32::MAX] {
            assert_eq!(TokenId::new(random, true), None);
            assert_eq!(TokenId::new(random, false), None);
        }
        for wire in [0, i32::MIN] {
            assert_eq!(TokenId::from_wire(wire), None);
        }
        let max = TokenId::new((1 << 31) - 1, false).unwrap();
        assert_eq!(max.to_wire(), -i32::MAX);
        assert_eq!(TokenId::from_wire(-i32::MAX), Some(max));
    }

    #[test]
    fn the_sign_means_leadership_and_does_not_count_in_comparisons() {
        let (leader, follower) = (TokenId::new(7, true), TokenId::new(7, false));
        let (leader, follower) = (leader.unwrap(), follower.unwrap());
        assert!(leader.is_leader() && !follower.is_leader());
        assert_eq!((leader.to_wire(), follower.to_wire()), (7, -7));
        assert_eq!(leader.compare(follower), Ordering::Equal);
        assert_eq!(leader.with_leader(false), follower);
        assert_eq!(follower.with_leader(true), leader);
        let greater = TokenId::new(8, false).unwrap();
        assert_eq!(greater.compare(leader), Ordering::Greater);
    }
}
