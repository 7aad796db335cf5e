//! SURVEY, kind 14: a question to the listed members for a report, or for a measurement.
//!
//! A listed member answers with [REPORT](super::report). If the purpose is a measurement, the listed members also send
//! [PROBE](super::probe) frames to each other. Then they send the results to the author in [MEASURES](super::measures)
//! frames. A node that does not know this kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 14
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  serial            u64, the number of the survey
//!   30      1  surveyPurpose     0 report, 1 measure
//!   31      1  probes            u8, at most 64: the number of probes for each ordered pair of members
//!   32      2  span              u16, at most 8,000: milliseconds over which a member spreads its probes
//!   34      2  count             u16, at most 64
//!   36 6 each  members           mac[6], a unicast address, count times
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message, SurveyPurpose};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "0e 00 020000000001"             // kind, reserved, messageAuthorMAC
//!     "0000000000000007 01"            // serial, surveyPurpose: measure
//!     "28 07d0"                        // probes: 40, span: 2 s
//!     "0002"                           // count
//!     "020000000001 020000000002"      // two members
//! );
//! let frame = Frame::decode(&bytes)?;
//! let members = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
//! let survey = Message::Survey {
//!     serial: 7,
//!     purpose: SurveyPurpose::Measure,
//!     probes: 40,
//!     span: 2000,
//!     members: &members,
//! };
//! assert_eq!(frame.message, survey);
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{U16, U64};

use super::{PROBES_MAX, SPAN_MAX, SURVEYED_PER_FRAME_MAX};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

layout! {
    /// The part of SURVEY before the members, 14 bytes.
    struct SurveyLayout {
        serial: U64 = Serial,
        purpose: u8 = SurveyPurpose,
        probes: u8 = Probes,
        span: U16 = Span,
        count: U16 = Count,
    }
}

/// The purpose of a SURVEY frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SurveyPurpose {
    /// The listed members report.
    Report = 0,
    /// The listed members report, and measure the frames that they send to each other.
    Measure = 1,
}

type Fields<'a> = (u64, SurveyPurpose, u8, u16, &'a [MacAddr]);

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Fields<'a>, DecodeError> {
    let start = reader.offset();
    let head: &SurveyLayout = reader.view()?;
    let purpose = match head.purpose {
        0 => SurveyPurpose::Report,
        1 => SurveyPurpose::Measure,
        value => {
            let value = value.into();
            let (field, problem) = (Field::SurveyPurpose, Problem::Illegal { value });
            return Err(DecodeError::new(field, start + 8, problem));
        }
    };
    let limited = [
        (Field::Probes, 9, head.probes.into(), PROBES_MAX.into()),
        (Field::Span, 10, head.span.get().into(), SPAN_MAX.into()),
        (
            Field::Count,
            12,
            head.count.get().into(),
            SURVEYED_PER_FRAME_MAX as u64,
        ),
    ];
    for (field, at, value, max) in limited {
        if value > max {
            let problem = Problem::TooLarge { value, max };
            return Err(DecodeError::new(field, start + at, problem));
        }
    }
    let first = reader.offset();
    let members: &[MacAddr] = reader.views(Field::Members, head.count.get().into())?;
    if let Some(bad) = members.iter().position(|mac| !mac.is_unicast()) {
        let offset = first + bad * size_of::<MacAddr>();
        return Err(DecodeError::new(Field::Mac, offset, Problem::NotUnicast));
    }
    Ok((
        head.serial.get(),
        purpose,
        head.probes,
        head.span.get(),
        members,
    ))
}

#[inline]
pub(super) fn write(
    writer: &mut Writer<'_>,
    serial: u64,
    purpose: SurveyPurpose,
    probes: u8,
    span: u16,
    members: &[MacAddr],
) {
    writer.require(probes <= PROBES_MAX, Field::Probes);
    writer.require(span <= SPAN_MAX, Field::Span);
    writer.require_len(Field::Members, members.len(), SURVEYED_PER_FRAME_MAX);
    writer.require(members.iter().all(|mac| mac.is_unicast()), Field::Mac);
    writer.layout(&SurveyLayout {
        serial: serial.into(),
        purpose: purpose as u8,
        probes,
        span: span.into(),
        count: u16::try_from(members.len()).unwrap_or(u16::MAX).into(),
    });
    writer.layout(members);
}
