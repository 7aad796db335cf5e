//! PROBE, kind 16: a frame of a measurement, and the answer to it.
//!
//! A receiver of a question sends the same fields back. A broadcast PROBE has no answer. A node that does not know this
//! kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 16
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      6  surveyorMAC       a unicast address: the author of the SURVEY
//!   28      8  serial            u64, of the survey
//!   36      1  number            u8, below 64: the number of the probe to this receiver
//!   37      1  isAnswer          0 question, 1 answer
//!   38      8  sentAt            u64, nanoseconds by the clock of the question's author
//!   46      2  paddingLen        u16, at most 1440
//!   48         padding           any bytes
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000003 020000000002 88b5" // destination, source, EtherType
//!     "10 00 020000000002"             // kind, reserved, messageAuthorMAC
//!     "020000000001 0000000000000007"  // surveyorMAC, serial
//!     "05 00"                          // number, isAnswer: a question
//!     "000000003b9aca00"               // sentAt
//!     "0002 0000"                      // paddingLen, padding
//! );
//! let frame = Frame::decode(&bytes)?;
//! let probe = Message::Probe {
//!     surveyor: MacAddr([2, 0, 0, 0, 0, 1]),
//!     serial: 7,
//!     number: 5,
//!     is_answer: false,
//!     sent_at: 1_000_000_000,
//!     padding: &[0, 0],
//! };
//! assert_eq!(frame.message, probe);
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{U16, U64};

use super::parts::HeaderLayout;
use super::{ETHERNET_HEADER_LEN, FRAME_LEN_MAX, PROBES_MAX};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

layout! {
    /// The part of PROBE before the padding, 26 bytes.
    struct ProbeLayout {
        surveyor: MacAddr = SurveyorMAC,
        serial: U64 = Serial,
        number: u8 = Number,
        is_answer: u8 = IsAnswer,
        sent_at: U64 = SentAt,
        padding_len: U16 = PaddingLen,
    }
}

/// The longest padding, in bytes. With this padding, the frame is as long as the longest frame of this protocol.
pub const PADDING_LEN_MAX: usize =
    FRAME_LEN_MAX - ETHERNET_HEADER_LEN - size_of::<HeaderLayout>() - size_of::<ProbeLayout>();

type Fields<'a> = (MacAddr, u64, u8, bool, u64, &'a [u8]);

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Fields<'a>, DecodeError> {
    let start = reader.offset();
    let head: &ProbeLayout = reader.view()?;
    let wrong = |field, at, problem| Err(DecodeError::new(field, start + at, problem));
    if !head.surveyor.is_unicast() {
        return wrong(Field::SurveyorMAC, 0, Problem::NotUnicast);
    }
    if head.number >= PROBES_MAX {
        let value = head.number.into();
        return wrong(Field::Number, 14, Problem::Illegal { value });
    }
    if head.is_answer > 1 {
        let value = head.is_answer.into();
        return wrong(Field::IsAnswer, 15, Problem::Illegal { value });
    }
    let padding_len = usize::from(head.padding_len.get());
    if padding_len > PADDING_LEN_MAX {
        let (value, max) = (padding_len as u64, PADDING_LEN_MAX as u64);
        return wrong(Field::PaddingLen, 24, Problem::TooLarge { value, max });
    }
    let padding = reader.bytes(Field::Padding, padding_len)?;
    Ok((
        head.surveyor,
        head.serial.get(),
        head.number,
        head.is_answer == 1,
        head.sent_at.get(),
        padding,
    ))
}

#[inline]
pub(super) fn write(
    writer: &mut Writer<'_>,
    surveyor: MacAddr,
    serial: u64,
    number: u8,
    is_answer: bool,
    sent_at: u64,
    padding: &[u8],
) {
    writer.require(surveyor.is_unicast(), Field::SurveyorMAC);
    writer.require(number < PROBES_MAX, Field::Number);
    writer.require_len(Field::Padding, padding.len(), PADDING_LEN_MAX);
    writer.layout(&ProbeLayout {
        surveyor,
        serial: serial.into(),
        number,
        is_answer: is_answer.into(),
        sent_at: sent_at.into(),
        padding_len: u16::try_from(padding.len()).unwrap_or(u16::MAX).into(),
    });
    writer.bytes(padding);
}
