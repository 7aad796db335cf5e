//! TP4 as it comes: each entry is judged as soon as it is there (`docs/jitterbug.md`, sections 10 and 11).

use std::net::{IpAddr, Ipv4Addr};

use ring_codec::jitterbug::{Message, Node, node_list_hash};
use ring_codec::{StreamState, Streamed};

use crate::buffer::append;
use crate::jitterbug::Reason;

/// The type and the count.
const HEAD: usize = 5;
/// An IPv6 entry.
const LONGEST: usize = 19;

/// A list on its way. What is kept of it are its bytes on the wire, as many as have come.
#[derive(Debug, Default)]
pub(crate) struct ListReader {
    bytes: Vec<u8>,
    /// Entries that have not come.
    missing: u32,
    /// Bytes that the list may have.
    most: usize,
}

/// What the bytes at hand have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many are done with; more are needed.
    Wait(usize),
    /// So many are done with, and the list is complete.
    Complete(usize),
}

impl ListReader {
    /// Whether nothing was read yet.
    pub(crate) const fn is_new(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads on from the front of `bytes`, whose first byte is TP4's if nothing was read before.
    pub(crate) fn read(&mut self, bytes: &[u8], max_nodes: u32) -> Result<Read, Reason> {
        let mut used = 0;
        if self.bytes.is_empty() {
            let Some((head, count)) = head(bytes) else {
                return Ok(Read::Wait(0));
            };
            if count > max_nodes {
                return Err(Reason::Count);
            }
            self.bytes.extend_from_slice(head);
            self.missing = count;
            self.most = HEAD + LONGEST * usize::try_from(count).unwrap_or_default();
            used = HEAD;
        }
        while self.missing > 0 {
            let rest = bytes.get(used..).unwrap_or_default();
            let entry = Node::decode_stream(rest, StreamState::Open);
            let (node, len) = match entry.map_err(|error| Reason::of(&error))? {
                Streamed::Message { message, consumed } => (message, consumed),
                Streamed::Incomplete { .. } => return Ok(Read::Wait(used)),
            };
            judge(node)?;
            let entry = rest.get(..len).unwrap_or_default();
            append(&mut self.bytes, entry, self.most);
            self.missing -= 1;
            used += len;
        }
        Ok(Read::Complete(used))
    }

    /// Whether a complete list is the one that was announced, and has no address twice.
    pub(crate) fn check(&self, hash: i32) -> Result<(), Reason> {
        let nodes = self.nodes();
        let mut addresses: Vec<IpAddr> = nodes.iter().map(|node| node.ip).collect();
        addresses.sort_unstable();
        if addresses.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Reason::Duplicate);
        }
        if node_list_hash(&nodes[..].into()) != hash {
            return Err(Reason::Hash);
        }
        Ok(())
    }

    /// The nodes of a complete list.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        match Message::decode_stream(&self.bytes, StreamState::Ended, u32::MAX) {
            Ok(Streamed::Message {
                message: Message::Tp4 { node_list },
                ..
            }) => node_list.iter().collect(),
            // Every entry was read before.
            _ => Vec::new(),
        }
    }
}

/// The first bytes of TP4 and the count that they announce.
fn head(bytes: &[u8]) -> Option<(&[u8; HEAD], u32)> {
    let head = bytes.first_chunk::<HEAD>()?;
    let [_, count @ ..] = *head;
    Some((head, u32::from_be_bytes(count)))
}

fn judge(node: Node) -> Result<(), Reason> {
    let ip = node.ip;
    let is_everybody = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
    if ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_everybody {
        return Err(Reason::Node);
    }
    if node.port == 0 {
        return Err(Reason::Port);
    }
    Ok(())
}

#[cfg(test)]
impl ListReader {
    /// Bytes that are reserved.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}
