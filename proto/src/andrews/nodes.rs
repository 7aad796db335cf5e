//! The list of the nodes that may be in the ring (`docs/board/protocol/README.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use ring_codec::andrews::MAX_IDS;
use thiserror::Error;

/// The nodes by their ids. No two nodes have the same id, or the same pair of address and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeList {
    addresses: BTreeMap<u32, SocketAddr>,
}

/// The reason why a list of nodes is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ListError {
    /// The list has too many nodes for the longest message of an election.
    #[error("the list has more than {MAX_IDS} nodes")]
    TooMany,
    /// An id is 0.
    #[error("the list has a node with id 0")]
    Id,
    /// A port is 0.
    #[error("the list gives node {0} port 0")]
    Port(u32),
    /// Two nodes have the same id.
    #[error("the list has two nodes with id {0}")]
    SameId(u32),
    /// Two nodes have the same address and port.
    #[error("the list has {0} twice")]
    SameAddress(SocketAddr),
}

impl NodeList {
    /// Creates the list of these nodes. The UDP socket and the TCP listener of a node have the same address.
    ///
    /// # Errors
    /// Returns an error that describes the first fault of the list.
    pub fn new(nodes: impl IntoIterator<Item = (u32, SocketAddr)>) -> Result<Self, ListError> {
        let mut addresses = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (id, address) in nodes {
            // A dual-stack socket shows IPv4 senders as mapped addresses.
            let address = SocketAddr::new(address.ip().to_canonical(), address.port());
            if id == 0 {
                return Err(ListError::Id);
            }
            // With port 0 the kernel would choose a port that the other nodes do not know.
            if address.port() == 0 {
                return Err(ListError::Port(id));
            }
            if addresses.insert(id, address).is_some() {
                return Err(ListError::SameId(id));
            }
            // Two nodes cannot bind the same port of one address.
            if !taken.insert(address) {
                return Err(ListError::SameAddress(address));
            }
            // An ELECTION of RING_BASED has the ids of all nodes in one frame.
            if addresses.len() > MAX_IDS {
                return Err(ListError::TooMany);
            }
        }
        Ok(Self { addresses })
    }

    /// Returns the address of a node, or `None` if the node is not in the list.
    pub fn address(&self, id: u32) -> Option<SocketAddr> {
        self.addresses.get(&id).copied()
    }

    /// Returns the ids and addresses of all nodes, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, SocketAddr)> {
        self.addresses.iter().map(|(&id, &address)| (id, address))
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether the list contains this node with this IP address, so that a frame of the node may come from this
    /// address. The port of the sender does not matter.
    pub(crate) fn is_from(&self, id: u32, source: IpAddr) -> bool {
        // The kernel chooses the port of an outgoing connection, so only the address identifies a node.
        self.address(id)
            .is_some_and(|address| address.ip() == source.to_canonical())
    }
}
