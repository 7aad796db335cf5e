//! The status of a node (`docs/jitterbug/status.md`, "Status").

use std::net::IpAddr;

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::{Counters, NodeStatus, NodeSummary, Options, Snapshot};

impl Jitterbug {
    /// Returns the options of the node.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Whether the node has ended. An ended node ignores all inputs.
    pub const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Whether local work may use the token now. The node must lead, must not be passing the token, and must know no
    /// other ring with a stronger token.
    pub fn may_use_token(&self) -> bool {
        // From step 4 on a candidate may get the token, so programs must have stopped.
        let turn = self.role.turn();
        turn.is_some_and(|turn| !turn.is_passing()) && !self.is_finished && !self.is_outranked()
    }

    /// Returns the number of the current turn. If no turn is running, returns the number of the last turn, or 0 if
    /// there was no turn.
    pub const fn turn(&self) -> u64 {
        self.turns
    }

    /// Returns a short status. It costs less than a [`snapshot`](Self::snapshot).
    pub fn summary(&self) -> NodeSummary {
        NodeSummary {
            state: self.role.state(),
            token_id: self.token_id.random(),
            may_use: self.may_use_token(),
        }
    }

    /// Returns the node's address; `None` if the node has none.
    pub fn address(&self) -> Option<IpAddr> {
        self.net.map(|net| net.address)
    }

    /// Whether the list has no other node.
    pub fn is_alone(&self) -> bool {
        let mut nodes = self.list.nodes().iter();
        nodes.all(|node| self.is_own(node.ip))
    }

    /// Returns the values that `ringctl status` shows.
    pub fn snapshot(&self) -> Snapshot {
        let entry = |node: &Node| {
            let (threshold, count) = self.penalties.get(node.ip);
            NodeStatus {
                node: *node,
                threshold,
                count,
            }
        };
        Snapshot {
            address: self.net.map(|net| net.address),
            udp_port: self.options.udp_port,
            tcp_port: self.net.map(|net| net.tcp_port),
            state: self.role.state(),
            token_id: self.token_id.random(),
            nodes: self.list.nodes().iter().map(entry).collect(),
            to_add: self.list.to_add().to_vec(),
            node_list_hash: self.list.hash(),
            differing: self.differing_nodes().collect(),
            is_outranked: self.is_outranked(),
        }
    }

    /// Returns the list in its order, and the nodes that wait to be added.
    pub fn lists(&self) -> (&[Node], &[Node]) {
        (self.list.nodes(), self.list.to_add())
    }

    /// Returns the data.
    pub fn data(&self) -> &[u8] {
        self.data.bytes()
    }

    /// Returns the counters.
    pub const fn counters(&self) -> &Counters {
        &self.out.counters
    }
}
