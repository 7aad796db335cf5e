//! FORGET, kind 11: members that the author removed from its table.
//!
//! A receiver removes these members too, if it has not heard them for a long time. A node that does not know this kind
//! may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 11
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      2  count             u16, at most 64
//!   24 6 each  members           mac[6], a unicast address, count times
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "0b 00 020000000001"             // kind, reserved, messageAuthorMAC
//!     "0002"                           // count
//!     "020000000007 020000000009"      // two members
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr::BROADCAST);
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! let members = [MacAddr([2, 0, 0, 0, 0, 7]), MacAddr([2, 0, 0, 0, 0, 9])];
//! assert_eq!(frame.message, Message::Forget { members: &members });
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U16;

use super::FORGOTTEN_PER_FRAME_MAX;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

layout! {
    /// The part of FORGET before the members, 2 bytes.
    struct ForgetLayout {
        count: U16 = Count,
    }
}

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [MacAddr], DecodeError> {
    let head: &ForgetLayout = reader.view()?;
    let first = reader.offset();
    let count = usize::from(head.count.get());
    if count > FORGOTTEN_PER_FRAME_MAX {
        let (value, max) = (count as u64, FORGOTTEN_PER_FRAME_MAX as u64);
        let problem = Problem::TooLarge { value, max };
        return Err(DecodeError::new(
            Field::Count,
            first - size_of::<U16>(),
            problem,
        ));
    }
    let members: &[MacAddr] = reader.views(Field::Members, count)?;
    if let Some(bad) = members.iter().position(|mac| !mac.is_unicast()) {
        let offset = first + bad * size_of::<MacAddr>();
        return Err(DecodeError::new(Field::Mac, offset, Problem::NotUnicast));
    }
    Ok(members)
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, members: &[MacAddr]) {
    writer.require_len(Field::Members, members.len(), FORGOTTEN_PER_FRAME_MAX);
    writer.require(members.iter().all(|mac| mac.is_unicast()), Field::Mac);
    writer.layout(&ForgetLayout {
        count: u16::try_from(members.len()).unwrap_or(u16::MAX).into(),
    });
    writer.layout(members);
}
