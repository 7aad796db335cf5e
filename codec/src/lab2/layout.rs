//! The fixed layouts as they lie on the wire.

use zerocopy::byteorder::network_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Digest, Token};
use crate::MacAddr;

/// The ip of a member that has none: `::`.
pub const NO_IP: [u8; 16] = [0; 16];

/// One entry of the member table, 22 bytes: `mac[6] ip[16]`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Member {
    /// The member's address on the segment.
    pub mac: MacAddr,
    /// IPv6, IPv4 mapped as `::ffff:a.b.c.d`, or [`NO_IP`].
    pub ip: [u8; 16],
}

/// `kind reserved messageAuthorMAC[6]`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct HeaderLayout {
    pub(super) kind: u8,
    pub(super) reserved: u8,
    pub(super) author: MacAddr,
}

/// `progress authorMAC[6] authorTokenNum`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct TokenLayout {
    progress: U64,
    author: MacAddr,
    number: U32,
}

impl From<Token> for TokenLayout {
    fn from(t: Token) -> Self {
        Self {
            progress: t.progress.into(),
            author: t.author,
            number: t.number.into(),
        }
    }
}

impl From<TokenLayout> for Token {
    fn from(t: TokenLayout) -> Self {
        Self {
            progress: t.progress.get(),
            author: t.author,
            number: t.number.get(),
        }
    }
}

/// `ringSize ringMembersHash`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct DigestLayout {
    size: U32,
    hash: U64,
}

impl From<Digest> for DigestLayout {
    fn from(d: Digest) -> Self {
        Self {
            size: d.size.into(),
            hash: d.hash.into(),
        }
    }
}

impl From<DigestLayout> for Digest {
    fn from(d: DigestLayout) -> Self {
        Self {
            size: d.size.get(),
            hash: d.hash.get(),
        }
    }
}

/// Head of TAKE_TOKEN and TOKEN_IS_HERE: token, digest, dataLen.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BatonLayout {
    pub(super) token: TokenLayout,
    pub(super) digest: DigestLayout,
    pub(super) data_len: U16,
}

/// PING: digest, ip.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct PingLayout {
    pub(super) digest: DigestLayout,
    pub(super) ip: [u8; 16],
}

/// TOKEN_WAS_HERE_RECENTLY: token, holder.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct RecentLayout {
    pub(super) token: TokenLayout,
    pub(super) holder: MacAddr,
}

/// Head of RING_MEMBERS: digest, count.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct MembersLayout {
    pub(super) digest: DigestLayout,
    pub(super) count: U16,
}
