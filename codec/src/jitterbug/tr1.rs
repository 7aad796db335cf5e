//! TR1, type 0, in a UDP broadcast: an orphan asks whether a better token exists.
//!
//! Every receiver stores the sender's address. The stored address consists of the datagram's IP address and the port in
//! the message.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type  0x01: version 1 in the low four bits, type 0 in the high
//!    1      4  token_id       i32, negative unless the sender leads
//!    5      2  node_tcp_port  u16
//!    7     33  terms          see `Terms`; a node of an older version sends none
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{Message, TokenId};
//!
//! let bytes = hex_literal::hex!(
//!     "01"       // version 1, type 0
//!     "fffffff9" // token_id: token 7, sent by a node that does not lead
//!     "e165"     // node_tcp_port: 57701
//! );
//! let token_id = TokenId::new(7, false).ok_or("random part")?;
//! let message = Message::Tr1 { token_id, node_tcp_port: 57701, terms: None };
//! assert_eq!(Message::decode_datagram(&bytes)?, message);
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{I32, U16};

use super::{Terms, TokenId};
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The 6 bytes that follow the first byte, without the terms.
    struct Tr1Layout {
        token_id: I32 = TokenId,
        node_tcp_port: U16 = NodeTcpPort,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<(TokenId, u16, Option<Terms>), DecodeError> {
    let offset = reader.offset();
    let body: &Tr1Layout = reader.view()?;
    Ok((
        TokenId::from_field(body.token_id, offset)?,
        body.node_tcp_port.get(),
        Terms::read_trailer(reader)?,
    ))
}

pub(super) fn write(
    writer: &mut Writer<'_>,
    token_id: TokenId,
    node_tcp_port: u16,
    terms: Option<Terms>,
) {
    writer.layout(&Tr1Layout {
        token_id: token_id.into(),
        node_tcp_port: node_tcp_port.into(),
    });
    if let Some(terms) = terms {
        terms.write(writer);
    }
}
