//! The status of a node (`docs/board/status.md`).

use std::collections::BTreeMap;

use ring_codec::andrews::Kind;
use ring_control::{ConfigStatus, Finding, Health, NodeStatus, TrustStatus, Verdict};
use ring_host::DatagramDrops;
use ring_host::trust::{key_ids, trust_status, unproven_counts};
use ring_process::sandbox::missing_limits;
use ring_proto::andrews::{Andrews, Counters, NodeList, Reason};
use ring_runtime::driver::{DatagramAddressing, Signer};
use serde::Serialize;

use super::link::Streams;
use super::troubles;
use crate::observe::method_name;
use crate::options::SYSTEM;

/// The status of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    id: u32,
    state: &'static str,
    coordinator: Option<u32>,
    acting: bool,
    term: u64,
    members: Vec<u32>,
    /// The id of the key with which each node signs its datagrams. Nodes without a valid signature are left out.
    node_keys: BTreeMap<u32, u32>,
    /// The connections to the successor and from the predecessor, as far as they are up.
    neighbors: Vec<NeighborStatus>,
    trust: TrustStatus,
    /// The limits of the daemon that the kernel does not support.
    missing_limits: Vec<String>,
    /// The options of the daemon; absent in the status for browsers.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<ConfigStatus>,
    successor: Option<u32>,
    predecessor: Option<u32>,
    token: Token,
    election: ElectionStatus,
    database: &'static str,
    waiting: usize,
    health: Health,
    troubles: Vec<String>,
    counters: Counted,
}

/// The connection to a neighbor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct NeighborStatus {
    node: u32,
    role: &'static str,
    /// The id of the key that encrypts the connection; `null` if it is not encrypted.
    key: Option<u32>,
    /// Whether the connection is older than the keys of this node.
    before_keys: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Token {
    held: bool,
    /// The sequence as a decimal string, because double-precision numbers cannot represent all sequences.
    sequence: String,
    seen_ms: Option<u128>,
    here_ms: Option<u128>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ElectionStatus {
    method: &'static str,
    ongoing: bool,
    started: u64,
    won: u64,
}

/// The counters. Message types and reasons that have not occurred are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Counted {
    received: BTreeMap<&'static str, u64>,
    sent: BTreeMap<&'static str, u64>,
    dropped: BTreeMap<&'static str, u64>,
    /// Datagrams without a valid signature, by reason. The map is empty without keys.
    unproven: BTreeMap<String, u64>,
    #[serde(flatten)]
    plain: BTreeMap<&'static str, u64>,
}

/// The parts around the state machine that a status describes.
pub struct Surroundings<'a> {
    /// Datagrams that did not reach the state machine.
    pub drops: DatagramDrops,
    /// Number of late wake-ups.
    pub late_wake_ups: u64,
    /// The keys of the node; `None` without keys.
    pub signer: Option<&'a Signer<DatagramAddressing>>,
    /// The connections between nodes.
    pub streams: &'a Streams,
    /// The nodes of the list.
    pub nodes: &'a NodeList,
}

impl Status {
    /// Creates the status of a node from its state machine and its other parts.
    pub fn of(
        machine: &Andrews,
        around: &Surroundings<'_>,
        mut findings: Vec<Finding>,
        current_fault: Option<String>,
    ) -> Self {
        let it = machine.snapshot();
        findings.extend(troubles::of(&it, current_fault));
        let Verdict { health, troubles } = Verdict::from_findings(findings);
        let mut counters = status_counters(machine.counters());
        let surroundings = [
            ("kernel_drops", around.drops.kernel),
            ("too_long", around.drops.cut),
            ("late_wake_ups", around.late_wake_ups),
        ];
        counters.plain.extend(surroundings);
        counters.unproven = unproven_counts(around.signer);
        Self {
            id: it.id,
            state: it.state.name(),
            coordinator: it.coordinator,
            acting: it.acting,
            term: it.term,
            members: it.members,
            node_keys: node_keys(around),
            neighbors: neighbors(machine, around.streams),
            trust: trust_status(around.signer),
            missing_limits: missing_limits(),
            config: None,
            successor: it.successor,
            predecessor: it.predecessor,
            token: Token {
                held: it.token.held,
                sequence: it.token.sequence.to_string(),
                seen_ms: it.token.seen.map(|ago| ago.as_millis()),
                here_ms: it.token.here.map(|ago| ago.as_millis()),
            },
            election: ElectionStatus {
                method: method_name(it.election.method),
                ongoing: it.election.ongoing,
                started: it.election.started,
                won: it.election.won,
            },
            database: it.database.name(),
            waiting: it.waiting,
            health,
            troubles,
            counters,
        }
    }

    /// Adds the options of the daemon, for clients of the control socket.
    pub fn with_config(mut self, config: ConfigStatus) -> Self {
        self.config = Some(config);
        self
    }

    /// Returns the health of the node.
    pub const fn health(&self) -> Health {
        self.health
    }

    /// Returns the status as JSON. All values of the status can be encoded.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the status as one sentence.
    pub fn sentence(&self) -> String {
        let coordinator = self
            .coordinator
            .map_or_else(|| "none".to_owned(), |id| id.to_string());
        let acting = if self.acting { " (acting)" } else { "" };
        format!(
            "node {}, {}, coordinator {coordinator}{acting}, term {}, {} members, database {}, token {}",
            self.id,
            self.state,
            self.term,
            self.members.len(),
            self.database,
            if self.token.held { "here" } else { "elsewhere" },
        )
    }
}

impl From<&Status> for NodeStatus {
    fn from(status: &Status) -> Self {
        Self::new(SYSTEM, status)
    }
}

fn node_keys(around: &Surroundings<'_>) -> BTreeMap<u32, u32> {
    let keys = key_ids(around.signer);
    let nodes = around.nodes.iter();
    let with_keys = nodes.filter_map(|(id, address)| Some((id, *keys.get(&address)?)));
    with_keys.collect()
}

fn neighbors(machine: &Andrews, streams: &Streams) -> Vec<NeighborStatus> {
    let neighbors = ["successor", "predecessor"]
        .into_iter()
        .zip(machine.neighbors());
    let with_connections = neighbors.filter_map(|(role, neighbor)| {
        let neighbor = neighbor?;
        let connection = streams.connection(neighbor.stream)?;
        Some(NeighborStatus {
            node: neighbor.id,
            role,
            key: connection.key_id(),
            before_keys: connection.is_older_than_keys(),
        })
    });
    with_connections.collect()
}

fn status_counters(counters: &Counters) -> Counted {
    let of_kinds = |count: &dyn Fn(Kind) -> u64| {
        let kinds = Kind::ALL.iter().map(|&kind| (kind.name(), count(kind)));
        kinds.filter(|(_, count)| *count > 0).collect()
    };
    let reasons = Reason::ALL.iter();
    let dropped = reasons.map(|&reason| (reason.key(), counters.drop_count(reason)));
    Counted {
        received: of_kinds(&|kind| counters.receive_count(kind)),
        sent: of_kinds(&|kind| counters.sent(kind)),
        dropped: dropped.filter(|(_, count)| *count > 0).collect(),
        unproven: BTreeMap::new(),
        plain: counters.plain().collect(),
    }
}
