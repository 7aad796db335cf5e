//! The profile: properties of the author of a frame that other members must know.
//!
//! A profile may follow TOKEN_IS_HERE, PING, WHERE_IS_TOKEN, GENERATING_TOKEN and WANT_TOKEN. If there is a trailer
//! that begins with `RGD1`, the profile comes after the trailer. A receiver that does not know profiles ignores a
//! profile as padding. If the bytes at the place of a profile are not a profile, a receiver that knows profiles ignores
//! these bytes as padding. Unknown flags have no meaning.
//!
//! ```text
//!   at  bytes  field
//!    0      4  mark       "RGD2"
//!    4      1  flags      1: the author is deaf; 2: broadcasts do not reach it;
//!                         32, 64, 128: a number of 3 bits, the backing of its tenure
//!    5      2  mtu        u16, the MTU of its interface, in bytes
//!    7      8  constants  u64, a digest of its constants
//!   15      8  patience   u64, nanoseconds: its WAITER_TIMEOUT
//!   23      8  shortest   u64, nanoseconds: the shortest WAITER_TIMEOUT that it has heard
//!   31      8  take       u64, nanoseconds: its TAKE_TIMEOUT
//!   39      4  expect     u32, the number of members that it expects, or 0
//! ```
//!
//! # Example
//! ```
//! use ring_codec::lab2::{self, Frame, Message, Profile};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "05 00 020000000001"             // kind, reserved, messageAuthorMAC
//!     "52474432 00 05dc"               // mark, flags, mtu: 1500
//!     "fedcba9876543210"               // constants
//!     "0000000017d78400"               // patience: 400 ms
//!     "0000000005f5e100"               // shortest: 100 ms
//!     "00000000004c4b40 00000003"      // take: 5 ms, expect: 3
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.message, Message::WhereIsToken);
//! let profile = Profile {
//!     flags: 0,
//!     mtu: 1500,
//!     constants: 0xfedc_ba98_7654_3210,
//!     patience: 400_000_000,
//!     shortest: 100_000_000,
//!     take: 5_000_000,
//!     expect: 3,
//! };
//! assert_eq!(frame.profile, Some(profile));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::Field;
use zerocopy::byteorder::network_endian::{U16, U32, U64};

use super::Kind;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

const MARK: [u8; 4] = *b"RGD2";

layout! {
    /// The layout of a profile, 43 bytes.
    struct ProfileLayout {
        mark: [u8; 4] = Mark,
        flags: u8 = Flags,
        mtu: U16 = Mtu,
        constants: U64 = Constants,
        patience: U64 = Patience,
        shortest: U64 = Shortest,
        take: U64 = Take,
        expect: U32 = Expect,
    }
}

/// Properties of a member (`docs/reference/lab2/membership.md F1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Profile {
    /// Flags: [`DEAF`](Self::DEAF), [`UNREACHED`](Self::UNREACHED) and [`BACKING`](Self::BACKING). Later versions may
    /// add other flags.
    pub flags: u8,
    /// The MTU of the author's interface, in bytes.
    pub mtu: u16,
    /// A digest of the author's constants. Members with equal digests have the same constants.
    pub constants: u64,
    /// The author's WAITER_TIMEOUT, in nanoseconds.
    pub patience: u64,
    /// The shortest WAITER_TIMEOUT that the author knows, in nanoseconds. The author's own WAITER_TIMEOUT is one of the
    /// compared timeouts.
    pub shortest: u64,
    /// The author's TAKE_TIMEOUT, in nanoseconds.
    pub take: u64,
    /// The number of members that the author expects; 0 if the author expects no number.
    pub expect: u32,
}

/// The backing of an owner's tenure, as announced in broadcast TOKEN_IS_HERE frames.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum Backing {
    /// No other member confirms the tenure, and no program has wanted the token since the owner's election.
    Unused = 1,
    /// No other member confirms the tenure.
    Used = 2,
    /// Other members confirm the tenure.
    Confirmed = 3,
    /// More than half of the ring confirms the tenure.
    Quorum = 4,
}

impl Profile {
    /// Flag: the author has heard no frame for WAITER_TIMEOUT.
    pub const DEAF: u8 = 1;
    /// Flag: only unicast frames have reached the author for a long time.
    pub const UNREACHED: u8 = 2;
    /// Flags: the number of the [`Backing`]; 0 if the author announces no backing.
    pub const BACKING: u8 = 0b1110_0000;
    /// Length of a profile, in bytes.
    pub const LEN: usize = size_of::<ProfileLayout>();

    /// Whether the author has heard no frame for WAITER_TIMEOUT.
    pub const fn is_deaf(&self) -> bool {
        self.flags & Self::DEAF != 0
    }

    /// Whether only unicast frames have reached the author for a long time.
    pub const fn is_unreached(&self) -> bool {
        self.flags & Self::UNREACHED != 0
    }

    /// Returns the backing of the author's tenure. Returns `None` if the author is no owner, if it offers its token, or
    /// if its version does not announce a backing.
    pub const fn backing(&self) -> Option<Backing> {
        match (self.flags & Self::BACKING) >> Self::BACKING.trailing_zeros() {
            1 => Some(Backing::Unused),
            2 => Some(Backing::Used),
            3 => Some(Backing::Confirmed),
            4 => Some(Backing::Quorum),
            _ => None,
        }
    }

    /// Returns the flags with the backing of the author's tenure.
    pub const fn with_backing(flags: u8, backing: Backing) -> u8 {
        flags & !Self::BACKING | (backing as u8) << Self::BACKING.trailing_zeros()
    }

    /// Whether a profile may follow a message of this kind.
    #[inline]
    pub const fn may_follow(kind: Kind) -> bool {
        matches!(
            kind,
            Kind::TokenIsHere
                | Kind::Ping
                | Kind::WhereIsToken
                | Kind::GeneratingToken
                | Kind::WantToken
        )
    }

    #[inline]
    pub(super) fn read(kind: Kind, reader: &mut Reader<'_>) -> Option<Self> {
        if !Self::may_follow(kind) {
            return None;
        }
        let layout = reader.trailer(|layout: &ProfileLayout| layout.mark == MARK)?;
        Some(Self {
            flags: layout.flags,
            mtu: layout.mtu.get(),
            constants: layout.constants.get(),
            patience: layout.patience.get(),
            shortest: layout.shortest.get(),
            take: layout.take.get(),
            expect: layout.expect.get(),
        })
    }

    #[inline]
    pub(super) fn write(&self, kind: Kind, writer: &mut Writer<'_>) {
        writer.require(Self::may_follow(kind), Field::Profile);
        writer.layout(&ProfileLayout {
            mark: MARK,
            flags: self.flags,
            mtu: self.mtu.into(),
            constants: self.constants.into(),
            patience: self.patience.into(),
            shortest: self.shortest.into(),
            take: self.take.into(),
            expect: self.expect.into(),
        });
    }
}
