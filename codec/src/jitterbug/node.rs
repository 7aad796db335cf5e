//! A ring's nodes and the hash of their list.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use zerocopy::IntoBytes;
use zerocopy::byteorder::network_endian::U16;

use crate::layout::layout;
use crate::list::{Item, List};
use crate::reader::Reader;
use crate::stream::{self, StreamState, Streamed};
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

/// Bit 0 of `meta`: the address is IPv6.
const IPV6: u8 = 1;
/// The base of the list's hash.
const HASH_BASE: i32 = 577;

/// A node: the address of its TCP listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// The address. The codec does not convert addresses: a mapped IPv4 address remains IPv6.
    pub ip: IpAddr,
    /// The TCP port.
    pub port: u16,
}

layout! {
    /// An IPv4 node, 7 bytes.
    struct V4Layout {
        meta: u8 = Meta,
        address: [u8; 4] = Address,
        port: U16 = Port,
    }
}

layout! {
    /// An IPv6 node, 19 bytes.
    struct V6Layout {
        meta: u8 = Meta,
        address: [u8; 16] = Address,
        port: U16 = Port,
    }
}

impl Node {
    /// Decodes the node at the start of these bytes. The bytes are a part of a node_list. So a receiver can check a
    /// long list and need not store it.
    ///
    /// # Errors
    /// Returns the first field that violates the [format](super#refused-messages), and its offset.
    pub fn decode_stream(bytes: &[u8], state: StreamState) -> Result<Streamed<Self>, DecodeError> {
        stream::decode(bytes, state, <Self as Item>::read)
    }

    /// Calls `f` with the node's bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let port = self.port.into();
        match self.ip {
            IpAddr::V4(ip) => f(V4Layout {
                meta: 0,
                address: ip.octets(),
                port,
            }
            .as_bytes()),
            IpAddr::V6(ip) => f(V6Layout {
                meta: IPV6,
                address: ip.octets(),
                port,
            }
            .as_bytes()),
        }
    }
}

impl<'a> Item<'a> for Node {
    const MIN_LEN: usize = size_of::<V4Layout>();

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let meta = reader.clone().u8(Field::Meta)?;
        if meta & !IPV6 != 0 {
            let value = meta.into();
            let problem = Problem::Reserved { value };
            return Err(DecodeError::new(Field::Meta, offset, problem));
        }
        if meta == IPV6 {
            let node: &V6Layout = reader.view()?;
            let ip = Ipv6Addr::from(node.address).into();
            let port = node.port.get();
            return Ok(Self { ip, port });
        }
        let node: &V4Layout = reader.view()?;
        let ip = Ipv4Addr::from(node.address).into();
        let port = node.port.get();
        Ok(Self { ip, port })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.with_bytes(|bytes| writer.bytes(bytes));
    }
}

/// Returns the bytes of the list's count.
pub(super) fn count_bytes(nodes: &List<'_, Node>) -> [u8; 4] {
    // The encoder refuses a list above the limit of 65,536 nodes, so the fallback is never sent.
    u32::try_from(nodes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

/// Computes the node_list_hash. The hash `h` starts with 0. Each byte `b` of the node_list, read as a signed byte,
/// changes `h` to `h * 577 + b` in wrapping 32-bit arithmetic. The node_list begins with the bytes of its count.
///
/// ```
/// use ring_codec::jitterbug::{Node, node_list_hash};
///
/// // 00 00 00 01, then 00 c0 00 02 01 e1 64
/// let nodes = [Node { ip: [192, 0, 2, 1].into(), port: 57700 }];
/// let bytes = [0, 0, 0, 1, 0, -64, 0, 2, 1, -31, 100_i32];
/// let hash = bytes.iter().fold(0_i32, |h, b| h.wrapping_mul(577).wrapping_add(*b));
/// assert_eq!(node_list_hash(&nodes[..].into()), hash);
/// ```
pub fn node_list_hash(nodes: &List<'_, Node>) -> i32 {
    nodes
        .iter()
        .fold(hash_bytes(0, &count_bytes(nodes)), |hash, node| {
            node.with_bytes(|bytes| hash_bytes(hash, bytes))
        })
}

fn hash_bytes(hash: i32, bytes: &[u8]) -> i32 {
    bytes.iter().fold(hash, |hash, byte| {
        hash.wrapping_mul(HASH_BASE)
            .wrapping_add(byte.cast_signed().into())
    })
}
