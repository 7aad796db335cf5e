//! The list of nodes, and those to be added to it (`docs/jitterbug.md`, section 10).

use std::collections::BTreeSet;
use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Node, node_list_hash};

use super::order::{Nodes, Put};

/// What has changed in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Nodes that are new in the list, or have another port there.
    pub(crate) added: Vec<Node>,
    /// Nodes for which there was no room.
    pub(crate) refused: Vec<Node>,
    /// Nodes that never answered, and are in the list no more.
    pub(crate) forgotten: Vec<Node>,
}

/// The list, `to_add`, and the list's hash.
///
/// Only nodes that never answered are deleted, and no order changes but by taking a list. Both together have at most `max_nodes`
/// addresses.
#[derive(Debug)]
pub(crate) struct NodeList {
    list: Nodes,
    to_add: Nodes,
    /// How many of `to_add` have addresses that are not in the list.
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

    /// Whether the address is in the list or waits to be.
    pub(crate) fn knows(&self, address: IpAddr) -> bool {
        self.list.contains(address) || self.to_add.contains(address)
    }

    /// TP4, as it lies on the wire.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let node_list = self.nodes().into();
        let message = Message::Tp4 { node_list };
        let mut bytes = vec![0; message.encoded_len()];
        // The buffer is as long as the message, and `most` is at most what the wire allows.
        let _ = message.encode(&mut bytes);
        bytes
    }

    /// A node was heard of: it is to be added, unless it is in the list as it is. Returns whether there was room.
    pub(crate) fn learn(&mut self, node: Node) -> bool {
        let listed = self.list.port(node.ip);
        if listed == Some(node.port) {
            // What was heard of it before is out of date.
            self.to_add.remove(node.ip);
            return true;
        }
        let is_new = listed.is_none() && !self.to_add.contains(node.ip);
        if is_new && self.list.len() + self.unlisted >= self.most {
            return false;
        }
        self.unlisted += usize::from(is_new);
        self.to_add.put(node);
        true
    }

    /// Step 4 of a leader's turn.
    pub(crate) fn apply(&mut self) -> Vec<Node> {
        let waiting = self.to_add.take();
        self.unlisted = 0;
        let changed = |node: &Node| self.list.put(*node) != Put::Known;
        let added: Vec<Node> = waiting.into_iter().filter(changed).collect();
        if !added.is_empty() {
            self.rehash();
        }
        added
    }

    /// Takes a node out of the list. Returns its entry.
    pub(crate) fn forget(&mut self, address: IpAddr) -> Option<Node> {
        let node = self.get(self.place(address)?)?;
        self.list.remove(address);
        self.rehash();
        Some(node)
    }

    /// The own entry is in the list, with the right port: at the start, and in a token's list.
    pub(crate) fn put_own(&mut self, own: Node) -> Changes {
        let mut changes = Changes::default();
        self.put(own, &mut changes);
        self.settle(&mut changes);
        changes
    }

    /// The list of a token that was taken: the received one, then what else was known, then the own entry.
    ///
    /// What else was known is left out if it `is_silent`: the giver may have forgotten it.
    pub(crate) fn take(
        &mut self,
        received: &[Node],
        own: Node,
        is_silent: impl Fn(&Node) -> bool,
    ) -> Changes {
        let known = self.list.take();
        let before: BTreeSet<Node> = known.iter().copied().collect();
        let mut changes = Changes::default();
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
        changes.added.retain(|node| !before.contains(node));
        self.settle(&mut changes);
        changes
    }

    /// The list of a token that came to a leader: what is missing is appended.
    pub(crate) fn merge(&mut self, received: &[Node]) -> Changes {
        let mut changes = Changes::default();
        for node in received {
            if !self.list.contains(node.ip) {
                self.put(*node, &mut changes);
            }
        }
        self.settle(&mut changes);
        changes
    }

    /// The list of a token that was absorbed: what is missing is to be added. Returns what there was no room for.
    pub(crate) fn absorb(&mut self, received: &[Node]) -> Vec<Node> {
        let is_missing = |node: &&Node| !self.knows(node.ip);
        let missing: Vec<Node> = received.iter().filter(is_missing).copied().collect();
        let refused = missing.into_iter().filter(|node| !self.learn(*node));
        refused.collect()
    }

    fn put(&mut self, node: Node, changes: &mut Changes) {
        if !self.list.contains(node.ip) && self.list.len() >= self.most {
            // The own entry may have been refused as one of the old list.
            if changes.refused.last() != Some(&node) {
                changes.refused.push(node);
            }
        } else if self.list.put(node) != Put::Known {
            changes.added.push(node);
        }
    }

    /// After the list has grown: `to_add` keeps what there is still room for.
    fn settle(&mut self, changes: &mut Changes) {
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

    /// Whether both lists are in order, with room for all that they have, and the hash is that of the list.
    #[cfg(debug_assertions)]
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
