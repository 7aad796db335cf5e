//! TR2, type 1, in a UDP datagram: the answer to a TR1. A leader sends it, or a node that knows a better token.
//!
//! The sign of the token_id replaces the original document's separate flag "holds token".
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type  0x11: version 1 in the low four bits, type 1 in the high
//!    1      4  token_id       i32, positive if the sender leads
//!    5     33  terms          see `Terms`; not in the answer to a TR1 without terms
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{Message, TokenId};
//!
//! let bytes = hex_literal::hex!(
//!     "11"       // version 1, type 1
//!     "00000008" // token_id: token 8, sent by its leader
//! );
//! let token_id = TokenId::new(8, true).ok_or("random part")?;
//! let message = Message::Tr2 { token_id, terms: None };
//! assert_eq!(Message::decode_datagram(&bytes)?, message);
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::I32;

use super::{Terms, TokenId};
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The 4 bytes that follow the first byte, without the terms.
    struct Tr2Layout {
        token_id: I32 = TokenId,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<(TokenId, Option<Terms>), DecodeError> {
    let offset = reader.offset();
    let body: &Tr2Layout = reader.view()?;
    Ok((
        TokenId::from_field(body.token_id, offset)?,
        Terms::read_trailer(reader)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, token_id: TokenId, terms: Option<Terms>) {
    let token_id = token_id.into();
    writer.layout(&Tr2Layout { token_id });
    if let Some(terms) = terms {
        terms.write(writer);
    }
}
