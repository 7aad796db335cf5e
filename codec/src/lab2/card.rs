//! The card: information about the author of a frame, for people.
//!
//! A card may follow a [`profile`](super::profile). A receiver that does not know cards treats a card as padding. If
//! the bytes at the place of a card are not a card, a receiver that knows cards ignores these bytes as padding.
//!
//! ```text
//!   at  bytes  field
//!    0      4  mark        "RGD3"
//!    4      6  version     the author's: major, minor, patch, a u16 each
//!   10      6  unheard     a member that the author has not heard for long; zeros: there is none
//!   16      8  held        u64, nanoseconds for which a program has held the author's token; 2^64-1: none does
//!   24      1  programLen  u8, at most 64; 0 if no program holds the token
//!   25      …  program     that program, in UTF-8
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Card, Frame, Version, Work};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "05 00 020000000001"             // kind, reserved, messageAuthorMAC
//!     "52474432 00 05dc"               // mark, flags, mtu: 1500
//!     "fedcba9876543210"               // constants
//!     "0000000017d78400"               // patience: 400 ms
//!     "0000000005f5e100"               // shortest: 100 ms
//!     "00000000004c4b40 00000003"      // take: 5 ms, expect: 3
//!     "52474433 000000010000"          // mark, version: 0.1.0
//!     "020000000007"                   // unheard
//!     "000000003b9aca00 06 6261636b7570" // held: 1 s, program: backup
//! );
//! let frame = Frame::decode(&bytes)?;
//! let card = Card {
//!     version: Version { major: 0, minor: 1, patch: 0 },
//!     unheard: Some(MacAddr([2, 0, 0, 0, 0, 7])),
//!     work: Some(Work { held: 1_000_000_000, program: "backup" }),
//!     host_name: None,
//!     pause: None,
//! };
//! assert_eq!(frame.card, Some(card));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;

use zerocopy::byteorder::network_endian::{U16, U64};

use super::PauseNotice;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{Field, MacAddr};

const MARK: [u8; 4] = *b"RGD3";
/// The longest name of a program, in bytes.
pub const MAX_PROGRAM_LEN: usize = 64;
/// The value of `held` if no program holds the token.
const NOT_HELD: u64 = u64::MAX;

layout! {
    /// The first 25 bytes of a card. The program follows after them.
    struct CardLayout {
        mark: [u8; 4] = Mark,
        major: U16 = Major,
        minor: U16 = Minor,
        patch: U16 = Patch,
        unheard: MacAddr = Unheard,
        held: U64 = Held,
        program_len: u8 = ProgramLen,
    }
}

/// Information about the author, for people (`docs/reference/lab2/membership.md E1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Card<'a> {
    /// The author's version.
    pub version: Version,
    /// A member that the author knows, but has not heard for a long time. If there are several such members, the author
    /// names a different member in each card.
    pub unheard: Option<MacAddr>,
    /// The program that holds the author's token. The program is `None` if the author has no token, or if no program
    /// holds the token.
    pub work: Option<Work<'a>>,
    /// Name of the author's machine, a legal [host name](super::host_name::is_host_name). Only some frames have it. The
    /// name is not next to the other fields in the frame: it is [a later trailer](super::host_name).
    pub host_name: Option<&'a str>,
    /// End and reason of the author's pause. Only some frames of a paused author have them, in [a later
    /// trailer](super::pause_notice).
    pub pause: Option<PauseNotice<'a>>,
}

/// The version of a member's program.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Version {
    /// First part of the version. This part changes when older programs cannot understand the new version.
    pub major: u16,
    /// Second part of the version. This part changes when there are new functions.
    pub minor: u16,
    /// Third part of the version. This part changes when faults are fixed.
    pub patch: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A program that holds a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work<'a> {
    /// Time for which the program has held the token, in nanoseconds. The number is less than 2^64 - 1.
    pub held: u64,
    /// Name that the program gave itself, at most [`MAX_PROGRAM_LEN`] bytes.
    pub program: &'a str,
}

/// Returns the part of a program's name that fits a card.
pub fn shorten(program: &str) -> &str {
    let mut len = program.len().min(MAX_PROGRAM_LEN);
    while !program.is_char_boundary(len) {
        len -= 1;
    }
    &program[..len]
}

impl<'a> Card<'a> {
    /// Returns the length of the card without the host name and the pause notice, in bytes.
    pub const fn encoded_len(&self) -> usize {
        let program = match self.work {
            Some(work) => work.program.len(),
            None => 0,
        };
        size_of::<CardLayout>() + program
    }

    #[inline]
    pub(super) fn read(reader: &mut Reader<'a>) -> Option<Self> {
        // An illegal card is padding, so the reader must not move behind a part of it.
        let mut ahead = reader.clone();
        let layout = ahead.trailer(|layout: &CardLayout| layout.mark == MARK)?;
        let len = usize::from(layout.program_len);
        if len > MAX_PROGRAM_LEN {
            return None;
        }
        let program = core::str::from_utf8(ahead.bytes(Field::Program, len).ok()?).ok()?;
        let held = layout.held.get();
        if held == NOT_HELD && len > 0 {
            return None;
        }
        *reader = ahead;
        Some(Self {
            version: Version {
                major: layout.major.get(),
                minor: layout.minor.get(),
                patch: layout.patch.get(),
            },
            unheard: Some(layout.unheard).filter(|&mac| mac != MacAddr::default()),
            work: (held != NOT_HELD).then_some(Work { held, program }),
            host_name: None,
            pause: None,
        })
    }

    #[inline]
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let (held, program) = self
            .work
            .map_or((NOT_HELD, ""), |work| (work.held, work.program));
        writer.require(self.unheard != Some(MacAddr::default()), Field::Unheard);
        writer.require(self.work.is_none() || held != NOT_HELD, Field::Held);
        writer.require_len(Field::Program, program.len(), MAX_PROGRAM_LEN);
        writer.layout(&CardLayout {
            mark: MARK,
            major: self.version.major.into(),
            minor: self.version.minor.into(),
            patch: self.version.patch.into(),
            unheard: self.unheard.unwrap_or_default(),
            held: held.into(),
            program_len: u8::try_from(program.len()).unwrap_or(u8::MAX),
        });
        writer.bytes(program.as_bytes());
    }
}
