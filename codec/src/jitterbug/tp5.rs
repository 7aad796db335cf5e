//! TP5, type 6, on a stream: the leader passes the token.
//!
//! The sender half-closes the stream after the data, so the message is complete only when the stream ends. The format
//! does not limit the length of the data, but a receiver may limit it.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type  0x61: version 1 in the low four bits, type 6 in the high
//!    1      4  token_id       i32, positive: the sender leads
//!    5   rest  data           to the end of the stream
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{MAX_NODES, Message, TokenId};
//! use ring_codec::{StreamState, Streamed};
//!
//! let bytes = hex_literal::hex!(
//!     "61"       // version 1, type 6
//!     "00000008" // token_id: token 8, sent by its leader
//!     "3432"     // data, to the end of the stream
//! );
//! let token_id = TokenId::new(8, true).ok_or("random part")?;
//! let message = Message::Tp5 { token_id, data: b"42" };
//!
//! // As long as the stream is open, more data may come.
//! let open = Message::decode_stream(&bytes, StreamState::Open, MAX_NODES)?;
//! assert_eq!(open, Streamed::Incomplete { more: 1 });
//! let decoded = Message::decode_stream(&bytes, StreamState::Ended, MAX_NODES)?;
//! assert_eq!(decoded, Streamed::Message { message, consumed: bytes.len() });
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::I32;

use super::TokenId;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

layout! {
    /// The 4 bytes between the first byte and the data.
    struct Tp5Layout {
        token_id: I32 = TokenId,
    }
}

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(TokenId, &'a [u8]), DecodeError> {
    let offset = reader.offset();
    let body: &Tp5Layout = reader.view()?;
    Ok((
        TokenId::from_field(body.token_id, offset)?,
        reader.bytes(Field::Data, reader.rest().len())?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, token_id: TokenId, data: &[u8]) {
    let token_id = token_id.into();
    writer.layout(&Tp5Layout { token_id });
    writer.bytes(data);
}
