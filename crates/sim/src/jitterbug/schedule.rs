//! A run as data: the faults, their times, and the seed for all other random values.

use std::time::Duration;

use ring_proto::jitterbug::{Compute, Decide, Options, policy};
use serde::{Deserialize, Serialize};

use super::notation::PORT;
use super::outcome::{Rule, Stats};
use crate::kernel::faults;
use crate::kernel::schedule::{Nodes, declare_faults, declare_schedule};

/// The maximum error of a clock's rate, in millionths.
pub(super) const MAX_RATE: i32 = 10_000;
/// The maximum number of nodes of a run.
pub const MAX_NODES: usize = 64;

declare_schedule! {
    nodes {
        /// The number of nodes.
        pub nodes: usize,
    }
    own {
        /// The nodes' options.
        pub options: NodeOptions,
        /// A node whose times differ from the times of the other nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub deviant: Option<Deviant>,
        /// The origin of the data.
        pub data: DataPlan,
    }
    last {}
}

/// The options of all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeOptions {
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

/// A node whose times differ from the times of the other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviant {
    /// The node.
    pub node: usize,
    /// The tr_interval of the node.
    pub interval_us: u64,
}

/// The origin of the data, and the rule by which a node decides between two versions of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// Whether a program computes the data. If the value is false, the nodes count.
    pub computes: bool,
    /// The component that decides whether a node keeps its data or takes the received data.
    pub decides: Decider,
    /// The number of bytes that a program's data contain in addition to their number.
    pub padding: usize,
}

/// The component that decides whether a node keeps its data or takes the received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// The node decides with the rule `greater`.
    Greater,
    /// The node decides with the rule `longer`.
    Longer,
    /// A program decides with the rule `greater`.
    Program,
}

/// The behavior of a node's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramBehavior {
    /// The programs finish soon.
    #[default]
    Quick,
    /// The programs take about as long as the timeout.
    Slow,
    /// The programs fail.
    Fail,
    /// The programs run until they are killed.
    Hang,
    /// The programs hang. After a kill, they take some time to die.
    Linger,
}

/// A fault or a user action.
pub type Fault = faults::Fault<SystemFault>;

declare_faults! {
    /// A fault or user action of Jitterbug.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    SystemFault {
        /// Loses broadcasts to the node, or lets them reach the node again.
        Unreached[node] { unreached: bool },
        /// Kills the process.
        End[node] => Self::Start { node },
        /// Cuts the power of the node's host.
        Power[node] => Self::Start { node },
        /// Starts a dead process.
        Start[node],
        /// Stalls the process.
        Pause[node] => Self::Resume { node },
        /// Continues the process.
        Resume[node],
        /// Takes the node's link down, or up.
        Link[node] { up: bool } => Self::Link { node, up: true },
        /// Gives the node another address.
        Address[node],
        /// Acts as a stranger: broadcasts datagrams, and opens connections to the node.
        Stranger[node] { count: u16 },
        /// Opens `count` connections from a stranger to the node at once.
        Flood[node] { count: u16 },
        /// Announces a stranger's token to all nodes.
        Announce[] { claim: ForgedId },
        /// Gives a stranger's token to the node.
        Give[node] { claim: ForgedId },
        /// Changes the behavior of the node's programs.
        Jobs[node] { #[serde(rename = "mood")] behavior: ProgramBehavior },
        /// Makes local work request the node's token, or ends the request.
        Work[node] { wants: bool },
        /// Makes a leader pass its token.
        Yield[node],
        /// Shuts the node down.
        Leave[node] => Self::Start { node },
    }
}

/// An id that a stranger invents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForgedId {
    /// The id of an existing token.
    #[default]
    Same,
    /// A slightly smaller id.
    Below,
    /// A slightly larger id.
    Above,
    /// The largest possible id.
    Largest,
}

impl Schedule {
    /// Returns the options of a node.
    pub fn options_of(&self, node: usize) -> Options {
        let mut options = self.options();
        if let Some(deviant) = self.deviant.filter(|deviant| deviant.node == node) {
            options.tr_interval = Duration::from_micros(deviant.interval_us);
        }
        options
    }

    /// Returns the options of all nodes except the deviant node.
    pub fn options(&self) -> Options {
        let NodeOptions {
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

    /// Returns the largest delay of a datagram.
    pub fn latest(&self) -> Duration {
        faults::max_delay(&self.actions)
    }

    /// Checks that all values are within the simulator's limits.
    ///
    /// # Errors
    /// Returns the reason if a value is not within the limits.
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
