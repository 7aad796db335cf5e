//! TOKEN_WAS_HERE_RECENTLY, kind 4: the author knows a token. The message answers a question or an offer, or objects to
//! a token.
//!
//! `token` is the strongest token that the author knows. `holder` is the node that held this token.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 4
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  progress          u64, below 2^63
//!   30      6  authorMAC
//!   36      4  authorTokenNum    u32
//!   40      6  holder
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "04 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "020000000003"                            // holder
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr([2, 0, 0, 0, 0, 2]));
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! assert_eq!(
//!     frame.message,
//!     Message::TokenWasHereRecently {
//!         token: Token { progress: 7, author: frame.author, number: 3 },
//!         holder: MacAddr([2, 0, 0, 0, 0, 3]),
//!     }
//! );
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Token;
use super::parts::TokenLayout;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, MacAddr};

layout! {
    /// The body of TOKEN_WAS_HERE_RECENTLY, 24 bytes.
    struct RecentLayout {
        token: TokenLayout = Token,
        holder: MacAddr = Holder,
    }
}

#[inline]
pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Token, MacAddr), DecodeError> {
    let offset = reader.offset();
    let body: &RecentLayout = reader.view()?;
    Ok((body.token.validate(offset)?, body.holder))
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, token: Token, holder: MacAddr) {
    let token = TokenLayout::checked(token, writer);
    writer.layout(&RecentLayout { token, holder });
}
