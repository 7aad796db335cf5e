//! The keys of a node, and the keys of the nodes and clients that send messages to it.

use std::collections::{BTreeMap, BTreeSet};

use ring_control::ftn::{self, SYSTEM as FTN};
use ring_control::jitterbug::{self, SYSTEM as JITTERBUG};
use ring_control::{NodeStatus, TrustStatus, lab2};
use serde::Deserialize;

use crate::nodes::BOARD;

/// A node or a client that sends messages to the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sender {
    pub name: String,
    /// The id of the sender's key; `None` if no message of the sender had a valid signature, or if this node has
    /// removed the key.
    pub key: Option<u32>,
}

/// The keys of a node and of its senders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signers {
    /// The keys of this node. There is at least one.
    pub trust: TrustStatus,
    /// The other nodes of the system. Nodes that may not have sent any message are left out.
    pub nodes: Vec<Sender>,
    /// The clients of a server of the token service.
    pub clients: Vec<Sender>,
    /// Nodes of the board with an unencrypted connection. It is unknown whether they have a key, because this node had
    /// none when the connection began.
    pub undecided: Vec<String>,
}

/// The keys in the status of a node of the board.
#[derive(Deserialize)]
struct BoardKeys {
    id: u32,
    #[serde(default)]
    node_keys: BTreeMap<u32, u32>,
    #[serde(default)]
    neighbors: Vec<Neighbor>,
    #[serde(default)]
    trust: TrustStatus,
}

/// The connection to a neighbor of a node of the board.
#[derive(Deserialize)]
struct Neighbor {
    node: u32,
    key: Option<u32>,
    before_keys: bool,
}

impl Signers {
    /// Returns the keys in the status of any node; `None` if the node has no keys.
    pub(crate) fn of(status: &NodeStatus) -> Option<Self> {
        let json = status.json();
        match status.system().as_deref() {
            None => Self::of_ring(&json.decode().ok()?),
            Some(FTN) => Self::of_server(&json.decode().ok()?),
            Some(JITTERBUG) => Self::of_jitterbug(&json.decode().ok()?),
            Some(BOARD) => Self::of_board(&json.decode().ok()?),
            Some(_) => None,
        }
    }

    /// Returns the keys in the status of a node of a ring; `None` if the node has no keys.
    pub(crate) fn of_ring(status: &lab2::Status) -> Option<Self> {
        let members = status.others().filter(|member| member.state != "left");
        let trust = &status.trust;
        let nodes = members.map(|it| Sender::new(&it.mac, valid_key(trust, it.key)));
        Self::new(trust, nodes)
    }

    /// Returns the keys in the status of a server of the token service. A follower gets messages only from its leader,
    /// and clients send their messages only to the leader.
    fn of_server(status: &ftn::Status) -> Option<Self> {
        let leads = status.leader == Some(status.index);
        let servers = status.servers.iter().enumerate();
        let others = servers.filter(|(index, _)| *index != status.index);
        let nodes = others.filter_map(|(index, server)| {
            let sends = status.leader == Some(index) || (leads && server.state != "DOWN");
            let key = valid_key(&status.trust, server.key);
            (sends || key.is_some()).then(|| Sender::new(&server.name, key))
        });
        // A new leader knows sessions of clients that have not sent it a message yet. If the server drops unsigned
        // messages, a client without a key must be such a client.
        let clients = status
            .sessions
            .iter()
            .filter(|it| leads && (status.trust.accepts_unsigned || it.key.is_some()));
        let clients = clients.map(|it| Sender::new(&it.address, it.key));
        Some(Self {
            clients: clients.collect(),
            ..Self::new(&status.trust, nodes)?
        })
    }

    fn of_jitterbug(status: &jitterbug::Status) -> Option<Self> {
        let nodes = status.nodes.iter();
        let others = nodes.filter(|it| status.address.as_ref() != Some(&it.address));
        let trust = &status.trust;
        // While the token rests, waiters send no messages to each other. So a node without a key may not have sent any
        // message. If the nodes drop unsigned messages, all nodes of the ring sign. A node with a penalty may be dead.
        let nodes = others.filter_map(|it| {
            let sends = trust.accepts_unsigned && it.penalty.threshold == 0;
            let key = valid_key(trust, it.key);
            (sends || key.is_some()).then(|| Sender::new(&it.address, key))
        });
        Self::new(trust, nodes)
    }

    /// Returns the keys in the status of a node of the board. Most of these nodes send no datagrams to each other, so
    /// the connections to neighbors count too. A connection is encrypted if both ends had a key when it began.
    fn of_board(keys: &BoardKeys) -> Option<Self> {
        let name = |id: u32| format!("node {id}");
        let known = keys.node_keys.iter();
        let known = known.filter_map(|(id, key)| Some((*id, valid_key(&keys.trust, Some(*key))?)));
        let mut nodes: BTreeMap<u32, Option<u32>> =
            known.map(|(id, key)| (id, Some(key))).collect();
        nodes.remove(&keys.id);
        let others = keys.neighbors.iter().filter(|it| it.node != keys.id);
        let (undecided, decided): (Vec<_>, Vec<_>) =
            others.partition(|it| it.key.is_none() && it.before_keys);
        for neighbor in decided {
            let shown = nodes.entry(neighbor.node).or_insert(neighbor.key);
            *shown = shown.or(neighbor.key);
        }
        let undecided: BTreeSet<u32> = undecided.into_iter().map(|it| it.node).collect();
        let undecided = undecided.into_iter().filter(|id| !nodes.contains_key(id));
        Some(Self {
            undecided: undecided.map(name).collect(),
            ..Self::new(
                &keys.trust,
                nodes.iter().map(|(id, key)| Sender::new(&name(*id), *key)),
            )?
        })
    }

    fn new(trust: &TrustStatus, nodes: impl Iterator<Item = Sender>) -> Option<Self> {
        (!trust.keys.is_empty()).then(|| Self {
            trust: trust.clone(),
            nodes: nodes.collect(),
            clients: Vec::new(),
            undecided: Vec::new(),
        })
    }

    /// For each id of this node's keys, returns the number of nodes that use the key. The number for `none` counts the
    /// nodes without a key.
    pub(crate) fn nodes_by_key(&self) -> BTreeMap<String, u64> {
        let known = &self.trust.keys;
        let mut counts: BTreeMap<_, _> = known.iter().map(|key| (key.to_string(), 0)).collect();
        count(&mut counts, self.nodes.iter().map(|it| it.key));
        counts
    }

    /// For each id of a key, returns the number of clients that use the key. The number for `none` counts the clients
    /// without a key.
    pub(crate) fn clients_by_key(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        count(&mut counts, self.clients.iter().map(|it| it.key));
        counts
    }
}

impl Sender {
    fn new(name: &str, key: Option<u32>) -> Self {
        let name = name.to_owned();
        Self { name, key }
    }
}

/// Returns the key of a node. Returns `None` if this node has removed the key after the last message.
fn valid_key(trust: &TrustStatus, key: Option<u32>) -> Option<u32> {
    key.filter(|key| trust.keys.contains(key))
}

fn count(counts: &mut BTreeMap<String, u64>, keys: impl Iterator<Item = Option<u32>>) {
    counts.insert("none".to_owned(), 0);
    for key in keys {
        let label = key.map_or_else(|| "none".to_owned(), |key| key.to_string());
        *counts.entry(label).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ring_control::NodeStatus;
    use serde_json::{Value, json};

    use super::{Sender, Signers};

    fn signers(status: Value) -> Option<Signers> {
        let status: NodeStatus = serde_json::from_value(status).expect("it is JSON");
        Signers::of(&status)
    }

    fn senders(of: &[Sender]) -> Vec<(&str, Option<u32>)> {
        of.iter().map(|it| (it.name.as_str(), it.key)).collect()
    }

    fn server(index: usize, leader: Option<usize>, trust: &Value) -> Value {
        let server = |name: &str, state: &str, key: Option<u32>| json!({"name": name, "state": state, "key": key});
        json!({
            "system": "ftn", "ringd": "0.1.0", "up_ns": 1, "index": index, "ssig": 1, "quorum": 2,
            "servers": [server("a:1", "READY", None), server("b:1", "READY", Some(7)), server("c:1", "READY", None),
                server("d:1", "DOWN", None)],
            "role": "leader", "state": "READY", "leader": leader, "configuration": 1, "round": 1, "authority": true,
            "grace_ns": 0, "survey": null, "tokens": 0, "held": 0, "waiting": 0, "memory_bytes": 0,
            "max_memory_bytes": 1, "counters": {}, "trust": trust,
            "sessions": [{"id": 1, "address": "192.0.2.9:1", "key": 9}, {"id": 2, "address": "192.0.2.8:1"}],
        })
    }

    #[test]
    fn a_leader_knows_who_signs_and_a_follower_knows_it_of_the_leader() {
        let trust = json!({"keys": [7, 8], "accepts_unsigned": true});
        let leader = signers(server(0, Some(0), &trust)).expect("it has keys");
        assert_eq!(senders(&leader.nodes), [("b:1", Some(7)), ("c:1", None)]);
        assert_eq!(
            senders(&leader.clients),
            [("192.0.2.9:1", Some(9)), ("192.0.2.8:1", None)]
        );
        let counts = |all: &[(&str, u64)]| -> BTreeMap<String, u64> {
            let all = all.iter().map(|(key, count)| ((*key).to_owned(), *count));
            all.collect()
        };
        assert_eq!(
            leader.nodes_by_key(),
            counts(&[("7", 1), ("8", 0), ("none", 1)])
        );
        assert_eq!(leader.clients_by_key(), counts(&[("9", 1), ("none", 1)]));
        let follower = signers(server(2, Some(0), &trust)).expect("it has keys");
        assert_eq!(senders(&follower.nodes), [("a:1", None), ("b:1", Some(7))]);
        let electing = signers(server(2, None, &trust)).expect("it has keys");
        assert_eq!(senders(&electing.nodes), [("b:1", Some(7))]);
        let without = json!({"keys": [], "accepts_unsigned": true});
        assert_eq!(signers(server(0, Some(0), &without)), None);
    }

    #[test]
    fn a_node_of_jitterbug_expects_no_signature_of_a_dead_node() {
        let node = |address: &str, threshold: u32, key: Option<u32>| {
            let penalty = json!({"threshold": threshold, "count": 0});
            json!({"address": address, "port": 1, "key": key, "penalty": penalty})
        };
        let found = signers(json!({
            "protocol": "jitterbug", "interface": "eth0", "address": "10.0.0.1", "udp_port": 1, "tcp_port": 1,
            "state": "leader", "token_id": 7, "to_add": [], "node_list_hash": 1, "data": "", "data_hex": "",
            "data_len": 0, "counters": {"dropped": {}}, "trust": {"keys": [7], "accepts_unsigned": true},
            "nodes": [node("10.0.0.1", 0, None), node("10.0.0.2", 0, Some(7)), node("10.0.0.3", 0, None),
                node("10.0.0.4", 2, None)],
        }));
        let found = found.expect("it has keys");
        assert_eq!(
            senders(&found.nodes),
            [("10.0.0.2", Some(7)), ("10.0.0.3", None)]
        );
    }

    #[test]
    fn a_node_of_the_board_knows_the_keys_of_some_nodes() {
        let found = signers(json!({
            "system": "board", "id": 1, "members": [1, 2, 3], "node_keys": {"1": 7, "2": 8, "3": 6},
            "trust": {"keys": [7, 8], "accepts_unsigned": false},
        }));
        let found = found.expect("it has keys");
        assert_eq!(senders(&found.nodes), [("node 2", Some(8))]);
        assert_eq!(found.undecided, [""; 0]);
        assert_eq!(signers(json!({"system": "note", "trust": {}})), None);
    }

    #[test]
    fn the_connections_of_the_board_show_neighbors_without_a_key() {
        let found = |successor: Value, predecessor: Value, node_keys: Value| {
            let neighbor = |node: u32, role: &str, [key, before_keys]: [Value; 2]| {
                json!({"node": node, "role": role,
                "key": key, "before_keys": before_keys})
            };
            let ends = |it: Value| [it[0].clone(), it[1].clone()];
            let found = signers(json!({
                "system": "board", "id": 1, "node_keys": node_keys,
                "trust": {"keys": [7], "accepts_unsigned": true},
                "neighbors": [neighbor(2, "successor", ends(successor)),
                    neighbor(3, "predecessor", ends(predecessor))],
            }));
            let found = found.expect("it has keys");
            let nodes = found.nodes.into_iter().map(|it| (it.name, it.key));
            (nodes.collect::<Vec<_>>(), found.undecided)
        };
        let named = |name: &str, key: Option<u32>| (name.to_owned(), key);
        let encrypted = || json!([7, false]);
        let refused = || json!([null, false]);
        let old = || json!([null, true]);
        assert_eq!(
            found(encrypted(), refused(), json!({})),
            (
                vec![named("node 2", Some(7)), named("node 3", None)],
                vec![]
            )
        );
        assert_eq!(
            found(old(), refused(), json!({})),
            (vec![named("node 3", None)], vec!["node 2".to_owned()])
        );
        // The node got the key after the connection had begun.
        assert_eq!(
            found(old(), refused(), json!({"2": 7, "3": 7})),
            (
                vec![named("node 2", Some(7)), named("node 3", Some(7))],
                vec![]
            )
        );
    }
}
