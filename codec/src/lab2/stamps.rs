//! STAMPS, kind 10: stamps of jobs that run once per period (`docs/reference/lab2/once.md J2`).
//!
//! If the stamps of a table do not fit into one frame, the table is sent in several frames. Each frame except the last
//! frame announces that more frames follow. The digest describes the whole table. For each stamp, the bytes before the
//! age are hashed with XXH3-64 (seed 0). The digest is the sum of these hashes as wrapping 64-bit integers. A node that
//! does not know this kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 10
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  progress          u64, below 2^63: the token of the one who tells or asks
//!   30      6  authorMAC
//!   36      4  authorTokenNum    u32
//!   40      4  serial            u32, of the table as it was told or asked with
//!   44      1  purpose           0 more follows, 1 tell, 2 ask, 3 agree, 4 differ
//!   45      8  stampsHash        u64
//!   53      2  stampCount        u16, at most 19
//!   55  75 each  stamps          stampCount times
//! ```
//! A stamp:
//! ```text
//!    0     32  name              1 to 32 printable ASCII characters without blanks, then zeros
//!   32      8  progress          u64, below 2^63: of the token under which the run began
//!   40      4  run               u32, tells the runs with one progress apart
//!   44      6  runnerMAC         the unicast address of the member that ran it
//!   50      1  outcome           0 begun, 1 done, 2 failed, 3 void
//!   51      8  period            u64, nanoseconds
//!   59      8  age               u64, nanoseconds since the run began; 2^64 - 1: not known
//!   67      8  before            u64, the age of the youngest run that this one has replaced;
//!                                2^64 - 1 if there is none or it is not known
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message, Purpose, RunOutcome, Stamp, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "0a 00 020000000001"                        // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "00000005 02"                               // serial, purpose: ask
//!     "0123456789abcdef"                          // stampsHash
//!     "0001"                                      // stampCount
//!     "6e696768746c79 00000000000000000000000000000000000000000000000000" // name: nightly
//!     "0000000000000007 00000000"                 // progress, run
//!     "020000000001 00"                           // runnerMAC, outcome: begun
//!     "0000417bce6c8000 000000003b9aca00"         // period: 20 h, age: 1 s
//!     "ffffffffffffffff"                          // before: none
//! );
//! let frame = Frame::decode(&bytes)?;
//! let Message::Stamps { token, serial: 5, purpose: Purpose::Ask, digest, stamps: [stamp] } =
//!     frame.message
//! else {
//!     panic!("{frame:?}");
//! };
//! assert_eq!(token, Token { progress: 7, author: MacAddr([2, 0, 0, 0, 0, 1]), number: 3 });
//! assert_eq!(digest, 0x0123_4567_89ab_cdef);
//! assert_eq!(stamp.name[..8], *b"nightly\0");
//! assert_eq!(stamp.outcome(), Some(RunOutcome::Begun));
//! assert_eq!((stamp.period.get(), stamp.age.get()), (72_000_000_000_000, 1_000_000_000));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{U16, U32, U64};

use super::parts::TokenLayout;
use super::{PROGRESS_MAX, STAMPS_PER_FRAME_MAX, Token};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

/// Length of the longest name of a job, in bytes.
pub const MAX_NAME_LEN: usize = 32;
/// The value of an unknown age.
pub const NO_AGE: u64 = u64::MAX;

layout! {
    /// The last run of one job, 75 bytes.
    pub struct Stamp {
        /// The job's name: printable ASCII without blanks, then zeros.
        pub name: [u8; MAX_NAME_LEN] = Name,
        /// Progress of the token under which the run began.
        pub progress: U64 = Progress,
        /// A number that distinguishes runs that began under the same progress.
        pub run: U32 = Run,
        /// The member that ran the job.
        pub runner: MacAddr = RunnerMAC,
        /// Outcome of the run, as a [`RunOutcome`].
        pub outcome: u8 = Outcome,
        /// Length of the period for which the run counts, in nanoseconds.
        pub period: U64 = Period,
        /// Time since the run began, in nanoseconds, or [`NO_AGE`].
        pub age: U64 = Age,
        /// The time since the start of the youngest run that this run replaced, in nanoseconds. [`NO_AGE`] if no
        /// replaced run is known.
        pub before: U64 = Before,
    }
}

layout! {
    /// The part of STAMPS before the stamps, 33 bytes.
    struct StampsLayout {
        token: TokenLayout = Token,
        serial: U32 = Serial,
        purpose: u8 = Purpose,
        digest: U64 = StampsHash,
        count: U16 = StampCount,
    }
}

/// Outcome of a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum RunOutcome {
    /// The run began, and no end was reported.
    Begun,
    /// The run succeeded.
    Done,
    /// The run failed.
    Failed,
    /// The run never began, although it was announced.
    Void,
}

impl RunOutcome {
    /// Returns the outcome with this number on the wire.
    pub const fn from_wire(outcome: u8) -> Option<Self> {
        match outcome {
            0 => Some(Self::Begun),
            1 => Some(Self::Done),
            2 => Some(Self::Failed),
            3 => Some(Self::Void),
            _ => None,
        }
    }
}

/// The purpose of a STAMPS frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Purpose {
    /// A part of the author's table. Another frame follows.
    More,
    /// The last frame of the author's table. The author sends this frame to members that may know fewer stamps.
    Tell,
    /// The last frame of the author's table. With this frame, the author asks all members whether they have the same
    /// stamps.
    Ask,
    /// The author stores exactly the stamps of the question, and knows no other stamps.
    Agree,
    /// The author's stamps differ from the stamps of the question. This frame contains stamps of the author.
    Differ,
}

impl Purpose {
    const fn from_wire(purpose: u8) -> Option<Self> {
        match purpose {
            0 => Some(Self::More),
            1 => Some(Self::Tell),
            2 => Some(Self::Ask),
            3 => Some(Self::Agree),
            4 => Some(Self::Differ),
            _ => None,
        }
    }
}

impl Stamp {
    /// Returns the outcome of the run. The outcome is `None` only for a stamp that was not decoded from a frame.
    pub const fn outcome(&self) -> Option<RunOutcome> {
        RunOutcome::from_wire(self.outcome)
    }

    /// Returns the field that makes the stamp invalid, with its offset and the problem.
    fn find_problem(&self) -> Option<(Field, usize, Problem)> {
        if !is_name(&self.name) {
            let value = self.name[0].into();
            return Some((Field::Name, 0, Problem::Illegal { value }));
        }
        let value = self.progress.get();
        if value > PROGRESS_MAX {
            let max = PROGRESS_MAX;
            return Some((Field::Progress, 32, Problem::TooLarge { value, max }));
        }
        if !self.runner.is_unicast() {
            return Some((Field::RunnerMAC, 44, Problem::NotUnicast));
        }
        if self.outcome().is_none() {
            let value = self.outcome.into();
            return Some((Field::Outcome, 50, Problem::Illegal { value }));
        }
        None
    }
}

/// Whether these bytes are the name of a job or a lock: one or more graphic ASCII characters, followed only by zeros.
pub fn is_name<const N: usize>(name: &[u8; N]) -> bool {
    let len = name.iter().take_while(|byte| byte.is_ascii_graphic());
    let len = len.count();
    len > 0 && name[len..].iter().all(|&byte| byte == 0)
}

#[inline]
pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<(Token, u32, Purpose, u64, &'a [Stamp]), DecodeError> {
    let offset = reader.offset();
    let head: &StampsLayout = reader.view()?;
    let token = head.token.validate(offset)?;
    let first = reader.offset();
    let Some(purpose) = Purpose::from_wire(head.purpose) else {
        let value = head.purpose.into();
        let at = offset + size_of::<TokenLayout>() + size_of::<U32>();
        return Err(DecodeError::new(
            Field::Purpose,
            at,
            Problem::Illegal { value },
        ));
    };
    let count = usize::from(head.count.get());
    if count > STAMPS_PER_FRAME_MAX {
        let (value, max) = (count as u64, STAMPS_PER_FRAME_MAX as u64);
        let problem = Problem::TooLarge { value, max };
        let at = first - size_of::<U16>();
        return Err(DecodeError::new(Field::StampCount, at, problem));
    }
    let stamps: &[Stamp] = reader.views(Field::Stamps, count)?;
    for (at, stamp) in stamps.iter().enumerate() {
        if let Some((field, within, problem)) = stamp.find_problem() {
            let offset = first + at * size_of::<Stamp>() + within;
            return Err(DecodeError::new(field, offset, problem));
        }
    }
    Ok((token, head.serial.get(), purpose, head.digest.get(), stamps))
}

#[inline]
pub(super) fn write(
    writer: &mut Writer<'_>,
    token: Token,
    serial: u32,
    purpose: Purpose,
    digest: u64,
    stamps: &[Stamp],
) {
    writer.require_len(Field::Stamps, stamps.len(), STAMPS_PER_FRAME_MAX);
    for (field, ..) in stamps.iter().filter_map(Stamp::find_problem) {
        writer.require(false, field);
    }
    let token = TokenLayout::checked(token, writer);
    writer.layout(&StampsLayout {
        token,
        serial: serial.into(),
        purpose: purpose as u8,
        digest: digest.into(),
        count: u16::try_from(stamps.len()).unwrap_or(u16::MAX).into(),
    });
    writer.layout(stamps);
}
