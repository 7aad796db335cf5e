//! The token's name, whose sign says whether its sender leads.

use core::cmp::Ordering;

use zerocopy::byteorder::network_endian::I32;

use crate::{DecodeError, Field, Problem};

/// A token_id: a random part of 31 bits that is never 0, and as its sign whether the sender holds
/// the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId(i32);

impl TokenId {
    /// The id with this random part. `None` if the part is 0 or has more than 31 bits.
    pub const fn new(random: u32, leader: bool) -> Option<Self> {
        match random.cast_signed() {
            part @ 1.. if leader => Some(Self(part)),
            part @ 1.. => Some(Self(-part)),
            _ => None,
        }
    }

    /// The id as it lies on the wire. `None` if its random part is 0 or does not fit 31 bits.
    pub const fn from_wire(value: i32) -> Option<Self> {
        match value {
            0 | i32::MIN => None,
            _ => Some(Self(value)),
        }
    }

    /// The id as it lies on the wire: positive from a leader, negative from anybody else.
    pub const fn to_wire(self) -> i32 {
        self.0
    }

    /// The random part, 1 to 2^31 - 1.
    pub const fn random(self) -> u32 {
        self.0.unsigned_abs()
    }

    /// Whether the sender holds the token.
    pub const fn is_leader(self) -> bool {
        self.0 > 0
    }

    /// The same token, said by a leader or by another node.
    pub const fn said_by(self, leader: bool) -> Self {
        if leader {
            Self(self.0.abs())
        } else {
            Self(-self.0.abs())
        }
    }

    /// Compares tokens: by the random part alone, whoever says it.
    pub fn compare(self, other: Self) -> Ordering {
        self.random().cmp(&other.random())
    }

    /// The id of a field that lay at `offset`.
    pub(super) fn legal(field: I32, offset: usize) -> Result<Self, DecodeError> {
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
        let most = TokenId::new((1 << 31) - 1, false).unwrap();
        assert_eq!(most.to_wire(), -i32::MAX);
        assert_eq!(TokenId::from_wire(-i32::MAX), Some(most));
    }

    #[test]
    fn leadership_is_the_sign_and_does_not_count_when_comparing() {
        let (led, known) = (TokenId::new(7, true), TokenId::new(7, false));
        let (led, known) = (led.unwrap(), known.unwrap());
        assert!(led.is_leader() && !known.is_leader());
        assert_eq!((led.to_wire(), known.to_wire()), (7, -7));
        assert_eq!(led.compare(known), Ordering::Equal);
        assert_eq!(led.said_by(false), known);
        assert_eq!(known.said_by(true), led);
        let more = TokenId::new(8, false).unwrap();
        assert_eq!(more.compare(led), Ordering::Greater);
    }
}
