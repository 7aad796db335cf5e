//! TP4, type 5, on a stream: the leader's node list.
//!
//! Bit 0 of `meta` is set for IPv6, and the other bits are 0. An address has 4 or 16 bytes, so a node has 7 or 19
//! bytes.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type  0x51: version 1 in the low four bits, type 5 in the high
//!    1      4  count          u32, at most 65,536 or what the receiver allows
//!    5   7/19  nodes          meta u8, address [4] or [16], port u16; count times
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{MAX_NODES, Message, Node, node_list_hash};
//! use ring_codec::{StreamState, Streamed};
//!
//! let bytes = hex_literal::hex!(
//!     "51"       // version 1, type 5
//!     "00000002" // count
//!     "00 c0000201 e164" // meta, address 192.0.2.1, port 57700
//!     "01 20010db8000000000000000000000001 e165" // meta, address 2001:db8::1, port 57701
//! );
//! let nodes = [
//!     Node { ip: "192.0.2.1".parse()?, port: 57700 },
//!     Node { ip: "2001:db8::1".parse()?, port: 57701 },
//! ];
//! let message = Message::Tp4 { node_list: nodes[..].into() };
//! assert_eq!(node_list_hash(&nodes[..].into()), 1_052_484_984);
//! let decoded = Message::decode_stream(&bytes, StreamState::Open, MAX_NODES)?;
//! assert_eq!(decoded, Streamed::Message { message, consumed: bytes.len() });
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::node::count_bytes;
use super::{MAX_NODES, Node};
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, Node>, DecodeError> {
    let count = reader.count(Field::Count)? as usize;
    let node_list = List::read(reader, count)?;
    Ok(node_list)
}

pub(super) fn write(writer: &mut Writer<'_>, node_list: List<'_, Node>) {
    writer.require_len(Field::NodeList, node_list.len(), MAX_NODES as usize);
    writer.bytes(&count_bytes(&node_list));
    node_list.write(writer);
}
