//! The standing: the author's knowledge of the ring's named locks (`docs/reference/lab2/locks.md`).
//!
//! A standing may follow TAKE_TOKEN, TOKEN_IS_HERE and PING. In TAKE_TOKEN, it follows the data. In the other frames,
//! it follows the [profile](super::profile) and the [card](super::card) if these exist. A receiver that does not know
//! standings ignores a standing as padding. If the bytes at the place of a standing are not a standing, a receiver that
//! knows standings ignores these bytes as padding.
//!
//! ```text
//!   at  bytes  field
//!    0      4  mark            "RGD4"
//!    4      8  progress        u64, below 2^63: the token of the last change of the table of grade quorum; zeros: none
//!   12      6  authorMAC
//!   18      4  authorTokenNum  u32
//!   22      8  change          u64, the number of this change under its token
//!   30      8  quorumHash      u64, the sum of the hashes of the records of grade quorum
//!   38      8  othersHash      u64, the sum of the hashes of the other records
//!   46      8  settles         u64, nanoseconds until the author may grant locks of lower grades; 2^64-1: not known
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, LocksStanding, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "01 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "00000002 0123456789abcdef"                 // digest: ringSize, ringMembersHash
//!     "0002 6869"                                 // dataLen, data
//!     "52474434"                                  // mark
//!     "0000000000000006 020000000001 00000003"    // token of the last change
//!     "0000000000000004"                          // change
//!     "fedcba9876543210 00000000000000ff"         // quorumHash, othersHash
//!     "0000000017d78400"                          // settles: in 400 ms
//! );
//! let frame = Frame::decode(&bytes)?;
//! let standing = LocksStanding {
//!     token: Token { progress: 6, author: MacAddr([2, 0, 0, 0, 0, 1]), number: 3 },
//!     change: 4,
//!     quorum: 0xfedc_ba98_7654_3210,
//!     others: 0xff,
//!     settles: 400_000_000,
//! };
//! assert_eq!(frame.locks, Some(standing));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U64;

use super::parts::TokenLayout;
use super::{Kind, Token};
use crate::Field;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

const MARK: [u8; 4] = *b"RGD4";

layout! {
    /// The layout of a standing, 54 bytes.
    struct StandingLayout {
        mark: [u8; 4] = Mark,
        token: TokenLayout = Token,
        change: U64 = Change,
        quorum: U64 = QuorumHash,
        others: U64 = OthersHash,
        settles: U64 = Settles,
    }
}

/// The knowledge of a frame's author about the ring's named locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocksStanding {
    /// The token under which the table of the grade `quorum` changed last; zeros if this table never changed.
    pub token: Token,
    /// The number of this change under its token.
    pub change: u64,
    /// The sum of the hashes of the author's records that need the grade `quorum`.
    pub quorum: u64,
    /// The sum of the hashes of the author's other records.
    pub others: u64,
    /// Time until the author may grant locks of lower grades, in nanoseconds, or [`NOT_KNOWN`](Self::NOT_KNOWN).
    pub settles: u64,
}

impl LocksStanding {
    /// The value of `settles` if the author does not know the time.
    pub const NOT_KNOWN: u64 = u64::MAX;
    /// Length of a standing, in bytes.
    pub const LEN: usize = size_of::<StandingLayout>();

    /// Whether a standing may follow a message of this kind.
    #[inline]
    pub const fn may_follow(kind: Kind) -> bool {
        matches!(kind, Kind::TakeToken | Kind::TokenIsHere | Kind::Ping)
    }

    #[inline]
    pub(super) fn read(kind: Kind, reader: &mut Reader<'_>) -> Option<Self> {
        if !Self::may_follow(kind) {
            return None;
        }
        // A standing with an illegal token is padding, so the reader must not move behind it.
        let mut ahead = reader.clone();
        let layout = ahead.trailer(|layout: &StandingLayout| layout.mark == MARK)?;
        let token = layout.token.validate(0).ok()?;
        *reader = ahead;
        Some(Self {
            token,
            change: layout.change.get(),
            quorum: layout.quorum.get(),
            others: layout.others.get(),
            settles: layout.settles.get(),
        })
    }

    #[inline]
    pub(super) fn write(&self, kind: Kind, writer: &mut Writer<'_>) {
        writer.require(Self::may_follow(kind), Field::Standing);
        let token = TokenLayout::checked(self.token, writer);
        writer.layout(&StandingLayout {
            mark: MARK,
            token,
            change: self.change.into(),
            quorum: self.quorum.into(),
            others: self.others.into(),
            settles: self.settles.into(),
        });
    }
}
