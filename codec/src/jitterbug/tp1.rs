//! TP1, type 2, on a stream: the leader offers the token to a candidate.
//!
//! The candidate compares the hash with the hash of its own list, and replies with TP2 or TP3.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type   0x21: version 1 in the low four bits, type 2 in the high
//!    1      4  token_id        i32, positive: the sender leads
//!    5      4  node_list_hash  i32
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{MAX_NODES, Message, TokenId};
//! use ring_codec::{StreamState, Streamed};
//!
//! let bytes = hex_literal::hex!(
//!     "21"       // version 1, type 2
//!     "00000008" // token_id: token 8, sent by its leader
//!     "3ebba578" // node_list_hash: of the list in the example of TP4
//! );
//! let token_id = TokenId::new(8, true).ok_or("random part")?;
//! let message = Message::Tp1 { token_id, node_list_hash: 1_052_484_984 };
//! let decoded = Message::decode_stream(&bytes, StreamState::Open, MAX_NODES)?;
//! assert_eq!(decoded, Streamed::Message { message, consumed: bytes.len() });
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::I32;

use super::TokenId;
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The 8 bytes that follow the first byte.
    struct Tp1Layout {
        token_id: I32 = TokenId,
        node_list_hash: I32 = NodeListHash,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<(TokenId, i32), DecodeError> {
    let offset = reader.offset();
    let body: &Tp1Layout = reader.view()?;
    Ok((
        TokenId::from_field(body.token_id, offset)?,
        body.node_list_hash.get(),
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, token_id: TokenId, node_list_hash: i32) {
    writer.layout(&Tp1Layout {
        token_id: token_id.into(),
        node_list_hash: node_list_hash.into(),
    });
}
