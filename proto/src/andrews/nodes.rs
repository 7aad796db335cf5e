//! The list of nodes that may be in the ring (`docs/board.md`, section 1).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use ring_codec::andrews::MAX_IDS;
use thiserror::Error;

/// Nodes by id; ids, and addresses with their ports, are unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeList {
    addresses: BTreeMap<u32, SocketAddr>,
}

/// Why a list of nodes is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ListError {
    /// An election has no room for so many.
    #[error("the list has more than {MAX_IDS} nodes")]
    TooMany,
    /// An id is 0.
    #[error("the list has a node with id 0")]
    Id,
    /// A port is 0.
    #[error("the list gives node {0} port 0")]
    Port(u32),
    /// An id is there twice.
    #[error("the list has two nodes with id {0}")]
    SameId(u32),
    /// Two nodes have the same address and port.
    #[error("the list has {0} twice")]
    SameAddress(SocketAddr),
}

impl NodeList {
    /// The list of these nodes: each has an id, and the address and port of its UDP socket and its listener.
    ///
    /// # Errors
    /// Names the first node that cannot be in it.
    pub fn new(nodes: impl IntoIterator<Item = (u32, SocketAddr)>) -> Result<Self, ListError> {
        let mut addresses = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (id, address) in nodes {
            let address = SocketAddr::new(address.ip().to_canonical(), address.port());
            if id == 0 {
                return Err(ListError::Id);
            }
            if address.port() == 0 {
                return Err(ListError::Port(id));
            }
            if addresses.insert(id, address).is_some() {
                return Err(ListError::SameId(id));
            }
            if !taken.insert(address) {
                return Err(ListError::SameAddress(address));
            }
            if addresses.len() > MAX_IDS {
                return Err(ListError::TooMany);
            }
        }
        Ok(Self { addresses })
    }

    /// Where a node is, if the list has it.
    pub fn address(&self, id: u32) -> Option<SocketAddr> {
        self.addresses.get(&id).copied()
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether a frame of this node may come from this address.
    pub(crate) fn is_from(&self, id: u32, source: IpAddr) -> bool {
        self.address(id)
            .is_some_and(|address| address.ip() == source.to_canonical())
    }
}
