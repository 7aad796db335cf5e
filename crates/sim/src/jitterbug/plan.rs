//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::time::Duration;

use ring_proto::jitterbug::{Compute, Decide, Options, policy};
use serde::{Deserialize, Serialize};

use super::notation::PORT;
use super::outcome::{Rule, Stats};
use crate::kernel::faults;
use crate::kernel::schedule::{Nodes, declare_faults, declare_schedule};

/// Clocks run faster or slower by no more, in millionths.
pub(super) const MAX_RATE: i32 = 10_000;
/// The most nodes of a run.
pub const MAX_NODES: usize = 64;

declare_schedule! {
    nodes {
        /// How many nodes there are.
        pub nodes: usize,
    }
    own {
        /// The nodes' options.
        pub options: Given,
        /// A node with other times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub deviant: Option<Deviant>,
        /// Where the data comes from, and how it goes on.
        pub data: DataPlan,
    }
    last {}
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
pub type Fault = faults::Fault<WorldFault>;

declare_faults! {
    /// What goes wrong, or is wanted, in this world only.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    WorldFault {
        /// Broadcasts do not reach a node, or do again.
        Unreached[node] { unreached: bool },
        /// A process dies.
        End[node] => Self::Start { node },
        /// So does its host.
        Power[node] => Self::Start { node },
        /// It starts again.
        Start[node],
        /// A process stands still.
        Pause[node] => Self::Resume { node },
        /// It goes on.
        Resume[node],
        /// A node has no link, or has one again.
        Link[node] { up: bool } => Self::Link { node, up: true },
        /// A node gets another address.
        Address[node],
        /// A stranger sends so many datagrams to all, and opens so many connections to a node.
        Stranger[node] { count: u16 },
        /// A stranger opens so many connections to a node at once.
        Flood[node] { count: u16 },
        /// A stranger announces a token to all.
        Announce[] { claim: Claim },
        /// A stranger gives a node a token.
        Give[node] { claim: Claim },
        /// A node's programs behave otherwise from now on.
        Jobs[node] { mood: Mood },
        /// Local work wants a node's token, or no longer.
        Work[node] { wants: bool },
        /// A leader is told to hand the token on.
        Yield[node],
        /// A node is shut down.
        Leave[node] => Self::Start { node },
    }
}

/// The id that a stranger makes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// That of a token that there is.
    #[default]
    Same,
    /// A little less.
    Below,
    /// A little more.
    Above,
    /// The largest that there can be.
    Largest,
}

impl Schedule {
    /// What a node is started with.
    pub fn options_of(&self, node: usize) -> Options {
        let mut options = self.options();
        if let Some(deviant) = self.deviant.filter(|deviant| deviant.node == node) {
            options.tr_interval = Duration::from_micros(deviant.interval_us);
        }
        options
    }

    /// What the nodes are started with, but for the one with other times.
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
    pub fn latest(&self) -> Duration {
        faults::latest(&self.actions)
    }

    /// Whether a world can be made from it.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MAX_NODES).contains(&self.nodes) {
            return Err(format!("a run has 1 to {MAX_NODES} nodes"));
        }
        for node in 0..self.nodes {
            let options = self.options_of(node);
            options.check().map_err(|error| error.to_string())?;
        }
        faults::check(self, MAX_RATE)
    }
}

impl Nodes for Schedule {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn take_node(&mut self, node: usize) -> bool {
        self.nodes -= 1;
        self.deviant = self.deviant.filter(|it| it.node != node).map(|it| Deviant {
            node: it.node - usize::from(it.node > node),
            ..it
        });
        true
    }
}
