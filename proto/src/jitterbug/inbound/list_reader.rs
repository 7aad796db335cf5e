//! Reads TP4, and checks each entry when it arrives (`docs/jitterbug/protocol/messages.md` X2).

use std::net::{IpAddr, Ipv4Addr};

use ring_codec::jitterbug::{Message, Node, node_list_hash};
use ring_codec::{StreamState, Streamed};

use crate::buffer::append;
use crate::jitterbug::Reason;

/// The length of the type and the count.
const HEADER_LEN: usize = 5;
/// The length of an IPv6 entry. Other entries are shorter.
const ENTRY_LEN_MAX: usize = 19;

/// An incomplete list. The reader stores the arrived bytes in the wire format.
#[derive(Debug, Default)]
pub(crate) struct ListReader {
    bytes: Vec<u8>,
    /// The number of entries that are still missing.
    missing: u32,
    /// The maximum length of the list in bytes.
    len_max: usize,
}

/// The result of reading the arrived bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListProgress {
    /// The reader consumed this many bytes, and needs more bytes.
    Wait(usize),
    /// This many bytes are consumed, and the list is complete.
    Complete(usize),
}

impl ListReader {
    pub(crate) const fn is_new(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads entries from the front of `bytes`. If the reader has read nothing before, the first byte is the type of
    /// TP4.
    pub(crate) fn read(&mut self, bytes: &[u8], max_nodes: u32) -> Result<ListProgress, Reason> {
        let mut used = 0;
        if self.bytes.is_empty() {
            let Some((head, count)) = split_header(bytes) else {
                return Ok(ListProgress::Wait(0));
            };
            // The count is checked before memory is reserved for it.
            if count > max_nodes {
                return Err(Reason::Count);
            }
            self.bytes.extend_from_slice(head);
            self.missing = count;
            self.len_max = HEADER_LEN + ENTRY_LEN_MAX * usize::try_from(count).unwrap_or_default();
            used = HEADER_LEN;
        }
        while self.missing > 0 {
            let rest = bytes.get(used..).unwrap_or_default();
            let entry = Node::decode_stream(rest, StreamState::Open);
            let (node, len) = match entry.map_err(|error| Reason::of(&error))? {
                Streamed::Message { message, consumed } => (message, consumed),
                Streamed::Incomplete { .. } => return Ok(ListProgress::Wait(used)),
            };
            // A wrong entry ends the exchange before the rest of a long list arrives.
            check_node(node)?;
            let entry = rest.get(..len).unwrap_or_default();
            // Entries stay encoded, so that the memory of an exchange stays within 19 bytes per node (`promises.md`
            // Q5).
            append(&mut self.bytes, entry, self.len_max);
            self.missing -= 1;
            used += len;
        }
        Ok(ListProgress::Complete(used))
    }

    /// Checks that a complete list has the hash from TP1, and that no address occurs twice in the list.
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

    pub(crate) fn nodes(&self) -> Vec<Node> {
        match Message::decode_stream(&self.bytes, StreamState::Ended, u32::MAX) {
            Ok(Streamed::Message {
                message: Message::Tp4 { node_list },
                ..
            }) => node_list.iter().collect(),
            // Every entry was decoded before, so this cannot happen.
            _ => Vec::new(),
        }
    }
}

/// Splits off the first bytes of TP4. Returns the first bytes of TP4, and the count that they contain.
fn split_header(bytes: &[u8]) -> Option<(&[u8; HEADER_LEN], u32)> {
    let head = bytes.first_chunk::<HEADER_LEN>()?;
    let [_, count @ ..] = *head;
    Some((head, u32::from_be_bytes(count)))
}

fn check_node(node: Node) -> Result<(), Reason> {
    let ip = node.ip;
    // With such an entry, nodes would connect to themselves, or pass their token to no node.
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
    /// Returns the number of bytes of the reserved memory.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}
