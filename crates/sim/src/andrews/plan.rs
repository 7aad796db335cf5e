//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::collections::BTreeSet;
use std::time::Duration;

use ring_codec::andrews::Method;
use ring_proto::andrews::{NodeList, Options};
use serde::{Deserialize, Serialize};

use super::notation::address;
use super::outcome::{Rule, Stats};
use crate::kernel::faults;
use crate::kernel::schedule::{Nodes, declare_faults, declare_schedule};

/// Clocks run faster or slower by no more, in millionths.
pub(super) const MAX_RATE: i32 = 10_000;
/// The most nodes of a run.
pub const MAX_NODES: usize = 64;

declare_schedule! {
    nodes {
        /// The ids of the nodes.
        pub ids: Vec<u32>,
    }
    own {
        /// The nodes' options.
        pub options: Given,
        /// What each node starts: the methods of elections, in turn.
        pub elections: Vec<Way>,
    }
    last {}
}

/// The options of all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
pub struct Given {
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
pub enum Way {
    /// `RING_BASED`
    Ring,
    /// `CHANG_ROBERTS`
    ChangRoberts,
    /// `BULLY`
    Bully,
}

impl Way {
    const fn method(self) -> Method {
        match self {
            Self::Ring => Method::RingBased,
            Self::ChangRoberts => Method::ChangRoberts,
            Self::Bully => Method::Bully,
        }
    }
}

/// How the database treats a node's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mood {
    /// They are done soon.
    #[default]
    Quick,
    /// They take up to four times database-timeout.
    Late,
    /// They fail.
    Gone,
    /// They are committed or not, and nobody knows.
    Unknown,
    /// The same, after four times database-timeout.
    Silent,
    /// Those that only read are done soon, and the others fail.
    ReadOnly,
    /// They are done soon, and answered twice.
    Twice,
}

/// What goes wrong, or is wanted.
pub type Fault = faults::Fault<WorldFault>;

declare_faults! {
    /// What goes wrong, or is wanted, in this world only.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    WorldFault {
        /// A process dies.
        End[node] => Self::Start { node, drop: false },
        /// So does its host.
        Power[node] => Self::Start { node, drop: false },
        /// It starts again; with `--drop` if it is to empty the topology.
        Start[node] { drop: bool },
        /// A process stands still.
        Pause[node] => Self::Resume { node },
        /// It goes on.
        Resume[node],
        /// A node has no link, or has one again.
        Link[node] { up: bool } => Self::Link { node, up: true },
        /// A stranger sends so many datagrams to a node, and opens so many connections.
        Stranger[node] { count: u16 },
        /// A stranger opens so many connections to a node at once.
        Flood[node] { count: u16 },
        /// Datagrams and connections in other nodes' names come to a node.
        Forge[node] { count: u16 },
        /// A node is shut down.
        Leave[node] => Self::Start { node, drop: false },
        /// The database treats a node otherwise from now on.
        Database[node] { mood: Mood },
        /// It treats all nodes otherwise.
        Databases[] { mood: Mood },
        /// A node is started again with a list that lacks another, or with the whole list.
        List[node, lacks: Option<usize>] => Self::List { node, lacks: None },
        /// Clients of a node post so often, and read.
        Post[node] { count: u16 },
        /// Clients of a node listen, or no longer.
        Listen[node] { listens: bool },
    }
}

impl Schedule {
    /// What a node is started with.
    pub fn options(&self, at: usize) -> Options {
        let given = &self.options;
        let way = self.elections.get(at % self.elections.len().max(1));
        Options {
            id: self.ids.get(at).copied().unwrap_or_default(),
            election: way.copied().unwrap_or(Way::Ring).method(),
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

    /// The list of all nodes but those that it lacks; without any if ids are none.
    pub fn list(&self, lacks: Option<usize>) -> Option<NodeList> {
        let nodes = self.ids.iter().enumerate();
        let nodes = nodes.filter(|(at, _)| Some(*at) != lacks);
        NodeList::new(nodes.map(|(at, &id)| (id, address(at)))).ok()
    }

    /// By how much a datagram may be late.
    pub fn latest(&self) -> Duration {
        faults::latest(&self.actions)
    }

    /// Whether a world can be made from it.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let nodes = self.ids.len();
        if !(1..=MAX_NODES).contains(&nodes) {
            return Err(format!("a run has 1 to {MAX_NODES} nodes"));
        }
        let ids: BTreeSet<u32> = self.ids.iter().copied().collect();
        let list = self.list(None).filter(|_| ids.len() == nodes);
        let list = list.ok_or("ids are more than 0, and each is there once")?;
        let options = self.options(0);
        options.check(&list).map_err(|error| error.to_string())?;
        for action in &self.actions {
            if let Fault::World(WorldFault::List { node, lacks }) = action.fault
                && lacks == Some(node)
            {
                return Err("a node is in its own list".into());
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
