//! Nodes in a fixed order, one per address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ring_codec::jitterbug::Node;

/// The effect of putting a node into the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutResult {
    /// Its address is new.
    Added,
    /// Its port was replaced.
    Moved,
    /// The order already contained the node.
    Known,
}

/// Nodes in the order of their insertion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    // Each datagram looks its sender up, and a list has up to 65,536 nodes.
    places: BTreeMap<IpAddr, usize>,
}

impl Nodes {
    pub(crate) fn as_slice(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn place(&self, address: IpAddr) -> Option<usize> {
        self.places.get(&address).copied()
    }

    pub(crate) fn get(&self, place: usize) -> Option<Node> {
        self.nodes.get(place).copied()
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.places.contains_key(&address)
    }

    pub(crate) fn port(&self, address: IpAddr) -> Option<u16> {
        let node = self.get(self.place(address)?)?;
        Some(node.port)
    }

    /// Appends a node. If the order already contains the node's address, replaces only the port.
    pub(crate) fn put(&mut self, node: Node) -> PutResult {
        let known = self.place(node.ip).and_then(|at| self.nodes.get_mut(at));
        match known {
            Some(known) if *known == node => PutResult::Known,
            // The node keeps its place, so that a restart does not change the order of the ring.
            Some(known) => {
                *known = node;
                PutResult::Moved
            }
            None => {
                self.places.insert(node.ip, self.nodes.len());
                self.nodes.push(node);
                PutResult::Added
            }
        }
    }

    /// Removes a node. Later nodes move up.
    pub(crate) fn remove(&mut self, address: IpAddr) {
        let Some(place) = self.places.remove(&address) else {
            return;
        };
        self.nodes.remove(place);
        for behind in self.places.values_mut().filter(|it| **it > place) {
            *behind -= 1;
        }
    }

    pub(crate) fn retain(&mut self, keeps: impl FnMut(&Node) -> bool) {
        self.nodes.retain(keeps);
        self.places = self.nodes.iter().map(|it| it.ip).zip(0..).collect();
    }

    pub(crate) fn take(&mut self) -> Vec<Node> {
        self.places.clear();
        std::mem::take(&mut self.nodes)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let places = self.nodes.iter().zip(0..);
        self.places.len() == self.nodes.len()
            && places
                .into_iter()
                .all(|(it, at)| self.place(it.ip) == Some(at))
    }
}
