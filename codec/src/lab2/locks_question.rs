//! LOCKS_QUESTION, kind 13: a question for the records of locks that the author does not have.
//!
//! The keys of records are divided into 64 equal ranges. Each sum is the sum of the hashes of the author's records in
//! one of these ranges, as wrapping 64-bit integers. A receiver compares the sums with its own sums, and sends the
//! records of the ranges that differ in [LOCKS](super::locks) frames. The receiver begins with the key `from`. A node
//! that does not know this kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 13
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      1  grade             the table: 0 the grades alone and all-heard, 2 the grade quorum
//!   23      8  from              u64, the first key that the author wants
//!   31    512  sums              64 numbers, each a u64
//! ```
//!
//! # Example
//! ```
//! use ring_codec::lab2::{self, Frame, LOCK_SUMS, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "0d 00 020000000001"                        // kind, reserved, messageAuthorMAC
//!     "02 8000000000000000"                       // grade, from
//!     "0123456789abcdef000000000000000000000000000000000000000000000000"  // sums: the first
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "000000000000000000000000000000000000000000000000fedcba9876543210"  // the last
//! );
//! let frame = Frame::decode(&bytes)?;
//! let Message::LocksQuestion { grade: 2, from, sums } = frame.message else {
//!     panic!("{frame:?}");
//! };
//! assert_eq!(from, 1 << 63);
//! assert_eq!(sums.len(), LOCK_SUMS);
//! assert_eq!((sums[0].get(), sums[1].get()), (0x0123_4567_89ab_cdef, 0));
//! assert_eq!(sums[63].get(), 0xfedc_ba98_7654_3210);
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U64;

use super::LOCK_SUMS;
use super::locks::GRADE_MAX;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

layout! {
    /// The part of LOCKS_QUESTION before the sums, 9 bytes.
    struct LocksQuestionLayout {
        grade: u8 = Grade,
        from: U64 = From,
    }
}

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(u8, u64, &'a [U64]), DecodeError> {
    let offset = reader.offset();
    let head: &LocksQuestionLayout = reader.view()?;
    if head.grade > GRADE_MAX {
        let value = head.grade.into();
        let problem = Problem::Illegal { value };
        return Err(DecodeError::new(Field::Grade, offset, problem));
    }
    let sums = reader.views(Field::Sums, LOCK_SUMS)?;
    Ok((head.grade, head.from.get(), sums))
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, grade: u8, from: u64, sums: &[U64]) {
    writer.require(grade <= GRADE_MAX, Field::Grade);
    writer.require(sums.len() == LOCK_SUMS, Field::Sums);
    writer.layout(&LocksQuestionLayout {
        grade,
        from: from.into(),
    });
    writer.layout(sums);
}
