//! TAKE_TOKEN, kind 1: the owner offers the token to a member.
//!
//! The offered `progress` is at least one larger than the progress of the token that the owner holds. The data belong
//! to the application, and go with the token.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 1
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  progress          u64, below 2^63
//!   30      6  authorMAC
//!   36      4  authorTokenNum    u32
//!   40      4  ringSize          u32
//!   44      8  ringMembersHash   u64
//!   52      2  dataLen           u16, at most 1024
//!   54  dataLen  data
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Digest, Frame, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "01 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "00000002 0123456789abcdef"                 // digest: ringSize, ringMembersHash
//!     "0002 6869"                                 // dataLen, data
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr([2, 0, 0, 0, 0, 2]));
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! assert_eq!(
//!     frame.message,
//!     Message::TakeToken {
//!         token: Token { progress: 7, author: frame.author, number: 3 },
//!         digest: Digest { size: 2, hash: 0x0123_4567_89ab_cdef },
//!         data: b"hi",
//!     }
//! );
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U16;

use super::parts::{DigestLayout, TokenLayout};
use super::{DATA_LEN_MAX, Digest, Token};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

layout! {
    /// The part of TAKE_TOKEN and TOKEN_IS_HERE before the data, 32 bytes.
    struct TokenBodyLayout {
        token: TokenLayout = Token,
        digest: DigestLayout = Digest,
        data_len: U16 = DataLen,
    }
}

/// Length of the body without the data, in bytes.
pub(super) const LEN_BESIDE_DATA: usize = size_of::<TokenBodyLayout>();

/// Reads a token with the application's data. TOKEN_IS_HERE uses this function too.
#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(Token, Digest, &'a [u8]), DecodeError> {
    let offset = reader.offset();
    let head: &TokenBodyLayout = reader.view()?;
    let token = head.token.validate(offset)?;
    let len = usize::from(head.data_len.get());
    if len > DATA_LEN_MAX {
        let offset = reader.offset() - size_of::<U16>();
        let (value, max) = (len as u64, DATA_LEN_MAX as u64);
        let problem = Problem::TooLarge { value, max };
        return Err(DecodeError::new(Field::DataLen, offset, problem));
    }
    let data = reader.bytes(Field::Data, len)?;
    Ok((token, head.digest.into(), data))
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, token: Token, digest: Digest, data: &[u8]) {
    writer.require_len(Field::Data, data.len(), DATA_LEN_MAX);
    let token = TokenLayout::checked(token, writer);
    writer.layout(&TokenBodyLayout {
        token,
        digest: digest.into(),
        data_len: u16::try_from(data.len()).unwrap_or(u16::MAX).into(),
    });
    writer.bytes(data);
}
