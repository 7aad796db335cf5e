//! TOKEN_IS_HERE, kind 2: the owner's heartbeat, and the acknowledgement of TAKE_TOKEN.
//!
//! The body has the same fields as TAKE_TOKEN. The token in the message is the token that the owner holds. A heartbeat
//! has a trailer with its number in the tenure. Answers repeat this number, so the owner can distinguish answers to
//! different heartbeats. A receiver that does not know trailers ignores the trailer as padding.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 2
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  progress          u64, below 2^63
//!   30      6  authorMAC
//!   36      4  authorTokenNum    u32
//!   40      4  ringSize          u32
//!   44      8  ringMembersHash   u64
//!   52      2  dataLen           u16, at most 1024
//!   54  dataLen  data
//!                             the trailer:
//!    …      4  mark              "RGD1"
//!    …      4  beat              u32
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Digest, Frame, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "02 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "00000002 0123456789abcdef"                 // digest: ringSize, ringMembersHash
//!     "0002 6869"                                 // dataLen, data
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr::BROADCAST);
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! assert_eq!(
//!     frame.message,
//!     Message::TokenIsHere {
//!         token: Token { progress: 7, author: frame.author, number: 3 },
//!         digest: Digest { size: 2, hash: 0x0123_4567_89ab_cdef },
//!         data: b"hi",
//!         beat: None,
//!     }
//! );
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! A heartbeat with its number:
//! ```
//! use ring_codec::lab2::{self, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "02 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "00000002 0123456789abcdef"                 // digest: ringSize, ringMembersHash
//!     "0002 6869"                                 // dataLen, data
//!     "52474431 00000005"                         // mark, beat
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert!(matches!(frame.message, Message::TokenIsHere { beat: Some(5), .. }));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U32;

use super::parts::{HeaderLayout, MARK};
use super::{Digest, Token, take_token};
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The optional trailer, 8 bytes.
    struct Trailer {
        mark: [u8; 4] = Mark,
        beat: U32 = Beat,
    }
}

/// Length of the payload with the trailer and without the data, in bytes.
pub(super) const LEN_BESIDE_DATA: usize =
    size_of::<HeaderLayout>() + take_token::LEN_BESIDE_DATA + size_of::<Trailer>();

/// Returns the fields of TAKE_TOKEN, and the beat.
type Heartbeat<'a> = (Token, Digest, &'a [u8], Option<u32>);

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Heartbeat<'a>, DecodeError> {
    let (token, digest, data) = take_token::read(reader)?;
    let trailer = reader.trailer(|trailer: &Trailer| trailer.mark == MARK);
    let beat = trailer.map(|trailer| trailer.beat.get());
    Ok((token, digest, data, beat))
}

#[inline]
pub(super) fn write(
    writer: &mut Writer<'_>,
    token: Token,
    digest: Digest,
    data: &[u8],
    beat: Option<u32>,
) {
    take_token::write(writer, token, digest, data);
    if let Some(beat) = beat {
        let beat = beat.into();
        writer.layout(&Trailer { mark: MARK, beat });
    }
}
