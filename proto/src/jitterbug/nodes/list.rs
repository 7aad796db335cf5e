//! The list of nodes, and the nodes that wait to be added (`docs/jitterbug/protocol/lists.md`).

use std::collections::BTreeSet;
use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Node, node_list_hash};

use super::order::{Nodes, PutResult};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// New nodes, and nodes of the list with a changed port.
    pub(crate) added: Vec<Node>,
    /// Nodes for which the lists had no room.
    pub(crate) refused: Vec<Node>,
    /// Removed nodes that never answered.
    pub(crate) forgotten: Vec<Node>,
}

/// The list, `to_add`, and the hash of the list.
///
/// A node is removed only if it never answered. The order changes only when this node takes a token with its list. The
/// list and `to_add` together have at most `max_nodes` addresses.
#[derive(Debug)]
pub(crate) struct NodeList {
    list: Nodes,
    to_add: Nodes,
    /// The number of entries of `to_add` whose address is not in the list.
    unlisted: usize,
    hash: i32,
    most: usize,
}

impl NodeList {
    pub(crate) fn new(max_nodes: u32) -> Self {
        let mut new = Self {
            list: Nodes::default(),
            to_add: Nodes::default(),
            unlisted: 0,
            hash: 0,
            most: usize::try_from(max_nodes).unwrap_or(usize::MAX),
        };
        new.rehash();
        new
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        self.list.as_slice()
    }

    pub(crate) fn to_add(&self) -> &[Node] {
        self.to_add.as_slice()
    }

    pub(crate) const fn hash(&self) -> i32 {
        self.hash
    }

    pub(crate) fn place(&self, address: IpAddr) -> Option<usize> {
        self.list.place(address)
    }

    pub(crate) fn get(&self, place: usize) -> Option<Node> {
        self.list.get(place)
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the address is in the list, or waits to be added.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.list.contains(address) || self.to_add.contains(address)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let node_list = self.nodes().into();
        let message = Message::Tp4 { node_list };
        let mut bytes = vec![0; message.encoded_len()];
        // The buffer has the length of the message, and the wire format allows `most` nodes.
        let _ = message.encode(&mut bytes);
        bytes
    }

    /// If the list does not contain exactly this entry, notes that the entry must be added. Returns `false` if there is
    /// no space for the node.
    pub(crate) fn learn(&mut self, node: Node) -> bool {
        let listed = self.list.port(node.ip);
        if listed == Some(node.port) {
            // An older message has named another port, so its entry is out of date.
            self.to_add.remove(node.ip);
            return true;
        }
        // A new port of a known address needs no further place, so it always fits.
        let is_new = listed.is_none() && !self.to_add.contains(node.ip);
        if is_new && self.list.len() + self.unlisted >= self.most {
            return false;
        }
        self.unlisted += usize::from(is_new);
        self.to_add.put(node);
        true
    }

    /// Moves `to_add` into the list: step 4 of a turn. Returns the changed entries.
    pub(crate) fn apply_additions(&mut self) -> Vec<Node> {
        let waiting = self.to_add.take();
        self.unlisted = 0;
        let changed = |node: &Node| self.list.put(*node) != PutResult::Known;
        let added: Vec<Node> = waiting.into_iter().filter(changed).collect();
        // The hash of a long list takes time, so it is computed only after a change.
        if !added.is_empty() {
            self.rehash();
        }
        added
    }

    /// Removes a node from the list. Returns its entry.
    pub(crate) fn forget(&mut self, address: IpAddr) -> Option<Node> {
        let node = self.get(self.place(address)?)?;
        self.list.remove(address);
        self.rehash();
        Some(node)
    }

    /// Puts the node's own entry into the list. The node does this at its start, and after it takes a token.
    pub(crate) fn put_own(&mut self, own: Node) -> Changes {
        let mut changes = Changes::default();
        self.put(own, &mut changes);
        self.drop_excess(&mut changes);
        changes
    }

    /// After this node takes a token, makes its new list. The list begins with the received entries. The remaining
    /// entries of the old list follow the received entries. If the node's own entry is missing, the node appends it.
    ///
    /// Old entries of silent nodes are omitted, because the giver may have removed these nodes.
    pub(crate) fn take_over(
        &mut self,
        received: &[Node],
        own: Node,
        is_silent: impl Fn(&Node) -> bool,
    ) -> Changes {
        let known = self.list.take();
        let before: BTreeSet<Node> = known.iter().copied().collect();
        let mut changes = Changes::default();
        // The received order comes first, so that all nodes of the ring have one order.
        for node in received {
            self.put(*node, &mut changes);
        }
        for node in known {
            if self.list.contains(node.ip) {
                continue;
            }
            if node.ip != own.ip && is_silent(&node) {
                changes.forgotten.push(node);
            } else {
                self.put(node, &mut changes);
            }
        }
        self.put(own, &mut changes);
        // Nodes of the old list were put back, so they are not new to observers.
        changes.added.retain(|node| !before.contains(node));
        self.drop_excess(&mut changes);
        changes
    }

    /// Appends the missing entries of a received list. The list came with a token to a node that was already leader.
    pub(crate) fn merge(&mut self, received: &[Node]) -> Changes {
        let mut changes = Changes::default();
        for node in received {
            if !self.list.contains(node.ip) {
                self.put(*node, &mut changes);
            }
        }
        self.drop_excess(&mut changes);
        changes
    }

    /// Notes the missing entries of a list that came with an absorbed token. The node adds the missing entries later.
    /// Returns the entries that do not fit.
    pub(crate) fn absorb(&mut self, received: &[Node]) -> Vec<Node> {
        // A node that does not lead must not change its list, so the entries wait for its next turn.
        let is_missing = |node: &&Node| !self.contains(node.ip);
        let missing: Vec<Node> = received.iter().filter(is_missing).copied().collect();
        let refused = missing.into_iter().filter(|node| !self.learn(*node));
        refused.collect()
    }

    fn put(&mut self, node: Node, changes: &mut Changes) {
        if !self.list.contains(node.ip) && self.list.len() >= self.most {
            // The node's own entry may have been refused before, as one of the old entries.
            if changes.refused.last() != Some(&node) {
                changes.refused.push(node);
            }
        } else if self.list.put(node) != PutResult::Known {
            changes.added.push(node);
        }
    }

    /// Drops the entries of `to_add` for which the longer list leaves no space.
    fn drop_excess(&mut self, changes: &mut Changes) {
        let (list, most) = (&self.list, self.most);
        let mut unlisted = 0;
        if self.to_add.len() > 0 {
            self.to_add.retain(|node| {
                let is_listed = list.contains(node.ip);
                let has_room = is_listed || list.len() + unlisted < most;
                if !has_room {
                    changes.refused.push(*node);
                }
                unlisted += usize::from(!is_listed && has_room);
                has_room
            });
        }
        self.unlisted = unlisted;
        self.rehash();
    }

    fn rehash(&mut self) {
        self.hash = node_list_hash(&self.list.as_slice().into());
    }

    /// Whether both lists are consistent and within the limit, and the stored hash belongs to the list.
    pub(crate) fn is_sound(&self) -> bool {
        let unlisted = self
            .to_add()
            .iter()
            .filter(|it| self.place(it.ip).is_none());
        self.list.is_sound()
            && self.to_add.is_sound()
            && unlisted.count() == self.unlisted
            && self.len() + self.unlisted <= self.most
            && self.hash == node_list_hash(&self.nodes().into())
    }
}

#[cfg(test)]
impl NodeList {
    pub(crate) const fn spoil(&mut self) {
        self.hash ^= 1;
    }
}
