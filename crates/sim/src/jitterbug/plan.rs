//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::time::Duration;

use ring_proto::jitterbug::{Compute, Decide, Options, policy};
use serde::{Deserialize, Serialize};

use super::notation::PORT;
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
    /// How many nodes there are.
    pub nodes: usize,
    /// How long the faults last.
    pub time_us: u64,
    /// The nodes' options.
    pub options: Given,
    /// A node with other times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviant: Option<Deviant>,
    /// Where the data comes from, and how it goes on.
    pub data: DataPlan,
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
pub struct Given {
    /// tr_interval.
    pub interval_us: u64,
    /// tr_count.
    pub count: u32,
    /// renew_timeout.
    pub renew_us: u64,
    /// token_pass_timeout.
    pub pass_us: u64,
    /// hold.
    pub hold_us: u64,
    /// compute_timeout.
    pub compute_us: u64,
    /// max_nodes.
    pub max_nodes: u32,
}

/// A node whose times are not those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviant {
    /// Which.
    pub node: usize,
    /// Its tr_interval.
    pub interval_us: u64,
}

/// Where data comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// A program computes it; otherwise the nodes count.
    pub computes: bool,
    /// Who decides.
    pub decides: Decider,
    /// So many bytes has the data of a program beside its number.
    pub padding: usize,
}

/// Who decides which data continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// The node, as `greater`.
    Greater,
    /// The node, as `longer`.
    Longer,
    /// A program, as `greater`.
    Program,
}

/// How a node's programs behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mood {
    /// They are done soon.
    #[default]
    Quick,
    /// They take about as long as they may.
    Slow,
    /// They fail.
    Fail,
    /// They never end, but when they are killed.
    Hang,
    /// They never end, and not at once when they are killed.
    Linger,
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
    /// Broadcasts do not reach a node, or do again.
    Unreached { node: usize, unreached: bool },
    /// A process dies.
    End { node: usize },
    /// So does its host.
    Power { node: usize },
    /// It starts again.
    Start { node: usize },
    /// A process stands still.
    Pause { node: usize },
    /// It goes on.
    Resume { node: usize },
    /// A node has no link, or has one again.
    Link { node: usize, up: bool },
    /// A node gets another address.
    Address { node: usize },
    /// A stranger sends so many datagrams to all, and opens so many connections to a node.
    Stranger { node: usize, count: u16 },
    /// A stranger opens so many connections to a node at once.
    Flood { node: usize, count: u16 },
    /// A stranger announces a token to all.
    Announce { claim: Claim },
    /// A stranger gives a node a token.
    Give { node: usize, claim: Claim },
    /// A node's programs behave otherwise from now on.
    Jobs { node: usize, mood: Mood },
    /// Local work wants a node's token, or no longer.
    Work { node: usize, wants: bool },
    /// A leader is told to hand the token on.
    Yield { node: usize },
    /// A node is shut down.
    Leave { node: usize },
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

/// The id that a stranger makes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// That of a token that there is.
    Same,
    /// A little less.
    Below,
    /// A little more.
    Above,
    /// The largest that there can be.
    Largest,
}

impl schedule::Fault for Fault {
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2] {
        match self {
            Self::Network(fault) => fault.nodes_mut(),
            Self::Process(fault) => fault.nodes_mut(),
            Self::End { node }
            | Self::Power { node }
            | Self::Start { node }
            | Self::Pause { node }
            | Self::Resume { node }
            | Self::Unreached { node, .. }
            | Self::Link { node, .. }
            | Self::Address { node }
            | Self::Stranger { node, .. }
            | Self::Flood { node, .. }
            | Self::Give { node, .. }
            | Self::Jobs { node, .. }
            | Self::Work { node, .. }
            | Self::Yield { node }
            | Self::Leave { node } => [Some(node), None],
            Self::Stream(_) | Self::Announce { .. } => [None, None],
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
    pub fn options_of(&self, node: usize) -> Options {
        let mut options = self.options();
        if let Some(deviant) = self.deviant.filter(|deviant| deviant.node == node) {
            options.tr_interval = Duration::from_micros(deviant.interval_us);
        }
        options
    }

    /// What the nodes are started with, but for the one with other times.
    #[must_use]
    pub fn options(&self) -> Options {
        let Given {
            interval_us,
            count,
            renew_us,
            pass_us,
            hold_us,
            compute_us,
            max_nodes,
        } = self.options;
        let compute = if self.data.computes {
            Compute::Program
        } else {
            Compute::Counter
        };
        let decide = match self.data.decides {
            Decider::Greater => Decide::Greater,
            Decider::Longer => Decide::Longer,
            Decider::Program => Decide::Program,
        };
        Options {
            udp_port: PORT,
            tr_interval: Duration::from_micros(interval_us),
            tr_count: count,
            renew_timeout: Duration::from_micros(renew_us),
            token_pass_timeout: Duration::from_micros(pass_us),
            hold: Duration::from_micros(hold_us),
            max_nodes,
            max_data: self.data.padding + 64,
            compute,
            decide,
            compute_timeout: Duration::from_micros(compute_us),
            policy: policy::digest("the same", "on all nodes"),
        }
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
        if !(1..=MAX_NODES).contains(&self.nodes) {
            return Err(format!("a run has 1 to {MAX_NODES} nodes"));
        }
        if self.time_us > MAX_TIME_US {
            return Err("a run lasts a year at most".into());
        }
        for node in 0..self.nodes {
            let options = self.options_of(node);
            options.check().map_err(|error| error.to_string())?;
        }
        for action in &self.actions {
            if !action.fault.is_among(self.nodes) {
                return Err(format!("there is no such node: {:?}", action.fault));
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
        self.nodes
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
        if self.nodes <= 1 {
            return shorter;
        }
        shorter.nodes -= 1;
        shorter.deviant = self.deviant.filter(|it| it.node != node).map(|it| Deviant {
            node: it.node - usize::from(it.node > node),
            ..it
        });
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
