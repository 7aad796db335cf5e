//! GENERATING_TOKEN, kind 6: a candidate for the next token.
//!
//! `token` is the author's candidate. If no node objects in time, the author owns the candidate.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 6
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  progress          u64, below 2^63
//!   30      6  authorMAC
//!   36      4  authorTokenNum    u32
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "06 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr::BROADCAST);
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! let token = Token { progress: 7, author: frame.author, number: 3 };
//! assert_eq!(frame.message, Message::GeneratingToken { token });
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Token;
use super::parts::TokenLayout;
use crate::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

#[inline]
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Token, DecodeError> {
    let offset = reader.offset();
    let token = reader.view::<TokenLayout>()?.validate(offset)?;
    Ok(token)
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, token: Token) {
    let token = TokenLayout::checked(token, writer);
    writer.layout(&token);
}
