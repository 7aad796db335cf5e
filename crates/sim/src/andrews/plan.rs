//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::collections::BTreeSet;
use std::time::Duration;

use ring_codec::andrews::Method;
use ring_proto::andrews::{NodeList, Options};
use serde::{Deserialize, Serialize};

use super::notation::address;
use crate::kernel::faults::{NetworkFault, ProcessFault, StreamFault};
use crate::kernel::schedule::{self, Fault as _};

/// Something that goes wrong, or is wanted, at a time.
pub type Action = schedule::Action<Fault>;

/// No time of a schedule is longer.
const MAX_TIME_US: u64 = 365 * 24 * 60 * 60 * 1_000_000;
/// Clocks run faster or slower by no more, in millionths.
pub(super) const MAX_RATE: i32 = 10_000;
/// The most nodes of a run.
pub const MAX_NODES: usize = 64;

/// A complete run, as it is replayed, shrunk and kept in a file. Times are in microseconds of the world's time. Nodes
/// are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// What it shows, for the reader.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Decides the fate of single datagrams.
    pub seed: u64,
    /// The ids of the nodes.
    pub ids: Vec<u32>,
    /// How long the faults last.
    pub time_us: u64,
    /// The nodes' options.
    pub options: Given,
    /// What each node starts: the methods of elections, in turn.
    pub elections: Vec<Way>,
    /// How long a datagram takes on a clear network: at least, and how much longer at most.
    pub latency_us: (u64, u64),
    /// Nodes that are not started again when the faults end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stay_dead: Vec<usize>,
    /// What goes wrong, in order of time.
    pub actions: Vec<Action>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "fault",
    rename_all = "kebab-case",
    expecting = "there is no such fault, or a field of it is missing or wrong"
)]
#[expect(missing_docs, reason = "fields that say themselves what they are")]
pub enum Fault {
    /// A process dies.
    End { node: usize },
    /// So does its host.
    Power { node: usize },
    /// It starts again; with `--drop` if it is to empty the topology.
    Start { node: usize, drop: bool },
    /// A process stands still.
    Pause { node: usize },
    /// It goes on.
    Resume { node: usize },
    /// A node has no link, or has one again.
    Link { node: usize, up: bool },
    /// A stranger sends so many datagrams to a node, and opens so many connections.
    Stranger { node: usize, count: u16 },
    /// A stranger opens so many connections to a node at once.
    Flood { node: usize, count: u16 },
    /// Datagrams and connections in other nodes' names come to a node.
    Forge { node: usize, count: u16 },
    /// A node is shut down.
    Leave { node: usize },
    /// The database treats a node otherwise from now on.
    Database { node: usize, mood: Mood },
    /// It treats all nodes otherwise.
    Databases { mood: Mood },
    /// A node is started again with a list that lacks another, or with the whole list.
    List { node: usize, lacks: Option<usize> },
    /// Clients of a node post so often, and read.
    Post { node: usize, count: u16 },
    /// Clients of a node listen, or no longer.
    Listen { node: usize, listens: bool },
    /// Something happens to messages.
    #[serde(untagged)]
    Network(NetworkFault),
    /// Something happens to connections.
    #[serde(untagged)]
    Stream(StreamFault),
    /// Something happens to a process.
    #[serde(untagged)]
    Process(ProcessFault),
}

impl schedule::Fault for Fault {
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2] {
        match self {
            Self::Network(fault) => fault.nodes_mut(),
            Self::Process(fault) => fault.nodes_mut(),
            Self::End { node }
            | Self::Power { node }
            | Self::Start { node, .. }
            | Self::Pause { node }
            | Self::Resume { node }
            | Self::Link { node, .. }
            | Self::Stranger { node, .. }
            | Self::Flood { node, .. }
            | Self::Forge { node, .. }
            | Self::Leave { node }
            | Self::Database { node, .. }
            | Self::Post { node, .. }
            | Self::Listen { node, .. } => [Some(node), None],
            Self::List { node, lacks } => [Some(node), lacks.as_mut()],
            Self::Stream(_) | Self::Databases { .. } => [None, None],
        }
    }

    fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Network(fault) => fault.groups_mut(),
            _ => None,
        }
    }
}

impl Schedule {
    /// What a node is started with.
    #[must_use]
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
    #[must_use]
    pub fn list(&self, lacks: Option<usize>) -> Option<NodeList> {
        let nodes = self.ids.iter().enumerate();
        let nodes = nodes.filter(|(at, _)| Some(*at) != lacks);
        NodeList::new(nodes.map(|(at, &id)| (id, address(at)))).ok()
    }

    /// By how much a datagram may be late.
    #[must_use]
    pub fn latest(&self) -> Duration {
        let late = self.actions.iter().map(|action| match action.fault {
            Fault::Network(NetworkFault::Reorder { ms, .. }) => ms,
            Fault::Network(NetworkFault::Delay { ms, jitter_ms }) => ms + jitter_ms,
            _ => 0,
        });
        Duration::from_millis(late.max().unwrap_or(0))
    }

    /// How long the faults last.
    #[must_use]
    pub const fn time(&self) -> Duration {
        Duration::from_micros(self.time_us)
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
        if self.time_us > MAX_TIME_US {
            return Err("a run lasts a year at most".into());
        }
        let ids: BTreeSet<u32> = self.ids.iter().copied().collect();
        let list = self.list(None).filter(|_| ids.len() == nodes);
        let list = list.ok_or("ids are more than 0, and each is there once")?;
        let options = self.options(0);
        options.check(&list).map_err(|error| error.to_string())?;
        for action in &self.actions {
            if !action.fault.is_among(nodes) {
                return Err(format!("there is no such node: {:?}", action.fault));
            }
            if let Fault::List { node, lacks } = action.fault
                && lacks == Some(node)
            {
                return Err("a node is in its own list".into());
            }
            if let Fault::Process(ProcessFault::Rate { millionths, .. }) = action.fault
                && millionths.unsigned_abs() > MAX_RATE.unsigned_abs()
            {
                return Err(format!("{millionths} millionths are more than {MAX_RATE}"));
            }
        }
        Ok(())
    }
}

impl schedule::Schedule for Schedule {
    type Fault = Fault;

    fn nodes(&self) -> usize {
        self.ids.len()
    }

    fn time_us(&self) -> u64 {
        self.time_us
    }

    fn set_time_us(&mut self, time_us: u64) {
        self.time_us = time_us;
    }

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn actions_mut(&mut self) -> &mut Vec<Action> {
        &mut self.actions
    }

    /// The last node stays.
    fn without(&self, node: usize) -> Self {
        let mut shorter = self.clone();
        if self.ids.len() <= 1 {
            return shorter;
        }
        shorter.ids.remove(node);
        schedule::take_out(&mut shorter.stay_dead, node);
        shorter
            .actions
            .retain_mut(|action| action.fault.take_out(node));
        shorter
    }

    fn start_all_again(&mut self) {
        self.stay_dead.clear();
    }
}
