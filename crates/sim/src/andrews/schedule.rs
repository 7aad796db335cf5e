//! A run as data: the faults, their times, and the seed for all other random values.

use std::collections::BTreeSet;
use std::time::Duration;

use ring_codec::andrews::Method;
use ring_proto::andrews::{NodeList, Options};
use serde::{Deserialize, Serialize};

use super::notation::address;
use super::outcome::{Rule, Stats};
use crate::kernel::faults;
use crate::kernel::schedule::{Nodes, declare_faults, declare_schedule};

/// The maximum error of a clock's rate, in millionths.
pub(super) const MAX_RATE: i32 = 10_000;
/// The maximum number of nodes of a run.
pub const MAX_NODES: usize = 64;

declare_schedule! {
    nodes {
        /// The ids of the nodes.
        pub ids: Vec<u32>,
    }
    own {
        /// The nodes' options.
        pub options: NodeOptions,
        /// The methods with which the nodes start elections, in turn.
        pub elections: Vec<ElectionMethod>,
    }
    last {}
}

/// The options of all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
pub struct NodeOptions {
    /// hold.
    pub hold_us: u64,
    /// ack-timeout.
    pub ack_us: u64,
    /// token-timeout.
    pub token_us: u64,
    /// connect-timeout.
    pub connect_us: u64,
    /// liveness.
    pub liveness_us: u64,
    /// election-timeout.
    pub election_us: u64,
    /// poll.
    pub poll_us: u64,
    /// database-timeout.
    pub database_us: u64,
    /// alone-timeout.
    pub alone_us: u64,
    /// request-timeout.
    pub request_us: u64,
}

/// A method of elections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElectionMethod {
    /// `RING_BASED`
    Ring,
    /// `CHANG_ROBERTS`
    ChangRoberts,
    /// `BULLY`
    Bully,
}

impl ElectionMethod {
    const fn method(self) -> Method {
        match self {
            Self::Ring => Method::RingBased,
            Self::ChangRoberts => Method::ChangRoberts,
            Self::Bully => Method::Bully,
        }
    }
}

/// The behavior of the database for a node's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseBehavior {
    /// The database answers soon.
    #[default]
    Quick,
    /// The database takes up to four times database-timeout.
    Late,
    /// The database fails the transaction.
    Gone,
    /// The database may or may not commit the transaction. The node gets an unknown result.
    Unknown,
    /// The database behaves as with `Unknown`, but answers only after four times database-timeout.
    Silent,
    /// The database answers reads soon, and fails writes.
    ReadOnly,
    /// The database answers soon, and sends each answer twice.
    Twice,
}

/// A fault or a user action.
pub type Fault = faults::Fault<SystemFault>;

declare_faults! {
    /// A fault or user action of the coordinated ring.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    SystemFault {
        /// Kills the process.
        End[node] => Self::Start { node, drop: false },
        /// Cuts the power of the host on which the node runs.
        Power[node] => Self::Start { node, drop: false },
        /// Starts a dead process; `drop` adds `--drop`, which empties the topology.
        Start[node] { drop: bool },
        /// Stalls the process.
        Pause[node] => Self::Resume { node },
        /// Continues the process.
        Resume[node],
        /// Takes the node's link down, or brings it up again.
        Link[node] { up: bool } => Self::Link { node, up: true },
        /// Acts as a stranger: sends datagrams to a node, and opens connections to it.
        Stranger[node] { count: u16 },
        /// Opens connections of a stranger to a node, all at once.
        Flood[node] { count: u16 },
        /// Sends datagrams to a node in other nodes' names, and opens connections in other nodes' names.
        Forge[node] { count: u16 },
        /// Shuts the node down.
        Leave[node] => Self::Start { node, drop: false },
        /// Changes the behavior of the database for a node.
        Database[node] { #[serde(rename = "mood")] behavior: DatabaseBehavior },
        /// Changes the behavior of the database for all nodes.
        Databases[] { #[serde(rename = "mood")] behavior: DatabaseBehavior },
        /// Restarts a node with a list that lacks another node, or with the whole list.
        List[node, lacks: Option<usize>] => Self::List { node, lacks: None },
        /// Sends requests of clients to a node. Some requests are posts, and some are reads.
        Post[node] { count: u16 },
        /// Makes clients of a node listen, or stop listening.
        Listen[node] { listens: bool },
    }
}

impl Schedule {
    /// Returns the options of a node.
    pub fn options(&self, at: usize) -> Options {
        let given = &self.options;
        let method = self.elections.get(at % self.elections.len().max(1));
        Options {
            id: self.ids.get(at).copied().unwrap_or_default(),
            election: method.copied().unwrap_or(ElectionMethod::Ring).method(),
            drop: false,
            hold: Duration::from_micros(given.hold_us),
            ack_timeout: Duration::from_micros(given.ack_us),
            token_timeout: Duration::from_micros(given.token_us),
            connect_timeout: Duration::from_micros(given.connect_us),
            liveness: Duration::from_micros(given.liveness_us),
            election_timeout: Duration::from_micros(given.election_us),
            poll: Duration::from_micros(given.poll_us),
            database_timeout: Duration::from_micros(given.database_us),
            alone_timeout: Duration::from_micros(given.alone_us),
            request_timeout: Duration::from_micros(given.request_us),
        }
    }

    /// Returns the list of all nodes except the node `lacks`. Returns `None` if an id is invalid.
    pub fn list(&self, lacks: Option<usize>) -> Option<NodeList> {
        let nodes = self.ids.iter().enumerate();
        let nodes = nodes.filter(|(at, _)| Some(*at) != lacks);
        NodeList::new(nodes.map(|(at, &id)| (id, address(at)))).ok()
    }

    /// Returns the largest delay of a datagram.
    pub fn latest(&self) -> Duration {
        faults::max_delay(&self.actions)
    }

    /// Checks that all values are within the simulator's limits.
    ///
    /// # Errors
    /// Returns the reason if a value is not within the limits.
    pub fn check(&self) -> Result<(), String> {
        let nodes = self.ids.len();
        if !(1..=MAX_NODES).contains(&nodes) {
            return Err(format!("a run has 1 to {MAX_NODES} nodes"));
        }
        let ids: BTreeSet<u32> = self.ids.iter().copied().collect();
        let list = self.list(None).filter(|_| ids.len() == nodes);
        let list = list.ok_or("ids must be positive and different")?;
        let options = self.options(0);
        options.check(&list).map_err(|error| error.to_string())?;
        for action in &self.actions {
            if let Fault::System(SystemFault::List { node, lacks }) = action.fault
                && lacks == Some(node)
            {
                return Err("a list must contain its own node".into());
            }
        }
        faults::check(self, MAX_RATE)
    }
}

impl Nodes for Schedule {
    fn nodes(&self) -> usize {
        self.ids.len()
    }

    fn take_node(&mut self, node: usize) -> bool {
        self.ids.remove(node);
        true
    }
}
