//! The faults that all systems share: faults of messages, connections and processes.
//!
//! Each system adds other faults. The field names are the field names of the schedule files. A fault's effect lasts
//! until another fault replaces it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::conditions::NetworkConditions;
use super::keys::NodeKeys;
use super::kinds::FaultEffect;
use super::schedule::{
    self, Action, FaultFields as _, MAX_TIME_US, Parts, Schedule, declare_faults,
};
use super::simulation::Simulation;
use super::streams::Carrier;
use super::system::System;

const MS: u64 = 1_000_000;

/// A fault or an action. Either all systems share the fault or action, or it belongs to one system.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "unknown fault, or a field is missing or wrong")]
pub enum Fault<W> {
    /// A fault of one system.
    System(W),
    /// A fault of messages.
    Network(NetworkFault),
    /// A fault of connections.
    Stream(StreamFault),
    /// A fault of a process.
    Process(ProcessFault),
}

/// Prints a fault in the notation of schedules. A fault of one system is printed without its wrapper.
impl<W: fmt::Debug> fmt::Debug for Fault<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(fault) => fault.fmt(f),
            Self::Network(fault) => f.debug_tuple("Network").field(fault).finish(),
            Self::Stream(fault) => f.debug_tuple("Stream").field(fault).finish(),
            Self::Process(fault) => f.debug_tuple("Process").field(fault).finish(),
        }
    }
}

impl<W: schedule::FaultFields> schedule::FaultFields for Fault<W> {
    fn nodes_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::System(fault) => fault.nodes_mut(),
            Self::Network(fault) => fault.nodes_mut(),
            Self::Stream(fault) => fault.nodes_mut(),
            Self::Process(fault) => fault.nodes_mut(),
        }
    }

    fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Network(fault) => fault.groups_mut(),
            _ => None,
        }
    }

    fn gives_keys(&self) -> bool {
        matches!(self, Self::Process(ProcessFault::Keys { .. }))
    }

    fn end(&self) -> Self {
        match self {
            Self::System(fault) => Self::System(fault.end()),
            Self::Network(fault) => Self::Network(fault.end()),
            Self::Stream(fault) => Self::Stream(fault.end()),
            Self::Process(fault) => Self::Process(fault.end()),
        }
    }
}

declare_faults! {
    /// Faults of messages. A `rate` is a number of messages per thousand.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    NetworkFault {
        /// Loses `rate` messages per thousand.
        Drop[] { rate: u16 },
        /// Delivers `rate` messages per thousand twice.
        Duplicate[] { rate: u16 },
        /// Delays `rate` copies per thousand by up to `ms` milliseconds.
        Reorder[] { rate: u16, ms: u64 },
        /// Delays all messages by `ms` milliseconds, and up to `jitter_ms` more.
        Delay[] { ms: u64, jitter_ms: u64 },
        /// Flips bits in `rate` messages per thousand.
        Corrupt[] { rate: u16 },
        /// Splits the network: `groups` contains the group of each node, and only nodes of the same group hear each
        /// other. An empty list heals the split.
        Part[] groups groups,
        /// Loses all messages from `node` to `by`.
        Unheard[node, by] => Self::Hear {},
        /// Undoes all `Unheard` faults.
        Hear[],
        /// Sends `count` captured messages again.
        Replay[] { count: u16 },
        /// Sends `count` messages of a host without a key, over `ms` milliseconds.
        Attack[] { count: u16, ms: u64 },
    }
}

declare_faults! {
    /// A fault of connections. It applies only to connections that are made after the fault begins. A `rate` is a
    /// number of connections per thousand.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    StreamFault {
        /// Resets `rate` connections per thousand after a random number of bytes.
        Reset[] { rate: u16 },
        /// Resets every connection after `byte` bytes.
        ResetAt[] { byte: u64 } => Self::Reset { rate: 0 },
        /// Ends one direction of some connections: of `rate` connections per thousand.
        Half[] { rate: u16 },
        /// Stalls `rate` of every 1,000 connections.
        Stall[] { rate: u16 },
        /// Delivers bytes one by one on `rate` of every 1,000 connections.
        Dribble[] { rate: u16 },
        /// Leaves `rate` of every 1,000 connections unanswered.
        Unanswered[] { rate: u16 },
    }
}

declare_faults! {
    /// Faults of the process of `node`.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    ProcessFault {
        /// Makes each loop iteration last `us` microseconds.
        Slow[node] { us: u64 },
        /// Makes the monotonic clock faster by `millionths`.
        Rate[node] { millionths: i32 },
        /// Whether no message reaches the node.
        Deaf[node] { deaf: bool },
        /// Refuses `rate` of every 1,000 send calls.
        Refuse[node] { rate: u16 },
        /// Changes the keys in the node's configuration.
        Keys[node] { keys: NodeKeys },
    }
}

impl<S: System> Simulation<S> {
    /// Applies a common fault, or returns the fault if it belongs to one system.
    pub fn apply_fault<'a, W>(&mut self, fault: &'a Fault<W>) -> Option<&'a W> {
        match fault {
            Fault::System(fault) => return Some(fault),
            Fault::Network(fault) => self.apply_network_fault(fault),
            Fault::Stream(fault) => self.apply_stream_fault(fault),
            Fault::Process(fault) => self.apply_process_fault(fault),
        }
        None
    }

    /// Applies a fault of messages.
    pub fn apply_network_fault(&mut self, fault: &NetworkFault) {
        let conditions = &mut self.network.conditions;
        match *fault {
            NetworkFault::Drop { rate } => conditions.drop = rate,
            NetworkFault::Duplicate { rate } => conditions.duplicate = rate,
            NetworkFault::Reorder { rate, ms } => {
                conditions.reorder = rate;
                conditions.reorder_by = (ms * MS).max(1);
            }
            NetworkFault::Delay { ms, jitter_ms } => {
                (conditions.delay, conditions.jitter) = (ms * MS, jitter_ms * MS);
            }
            NetworkFault::Corrupt { rate } => conditions.corrupt = rate,
            NetworkFault::Part { ref groups } => {
                self.part(groups);
                if !groups.is_empty() {
                    self.count_split(FaultEffect::Partition);
                }
            }
            NetworkFault::Unheard { node, by } => {
                self.network.cuts.push((node, by));
                self.count_split(FaultEffect::OneWay);
            }
            NetworkFault::Hear {} => self.network.cuts.clear(),
            NetworkFault::Replay { count } => self.replay_captured(count),
            NetworkFault::Attack { count, ms } => self.begin_attack(count, ms * MS),
        }
        self.network.update_clear();
    }

    /// Counts a split on a network with connections. On such a network, a split makes messages wait instead of losing
    /// them. Without this function, a split that loses no message would not be counted.
    fn count_split(&mut self, cut: FaultEffect) {
        if S::Streams::ANY {
            self.count_effect(cut);
        }
    }

    /// Applies a fault of connections.
    pub const fn apply_stream_fault(&mut self, fault: &StreamFault) {
        let conditions = &mut self.stream_conditions;
        match *fault {
            StreamFault::Reset { rate } => (conditions.reset, conditions.reset_at) = (rate, None),
            StreamFault::ResetAt { byte } => conditions.reset_at = Some(byte),
            StreamFault::Half { rate } => conditions.half = rate,
            StreamFault::Stall { rate } => conditions.stall = rate,
            StreamFault::Dribble { rate } => conditions.dribble = rate,
            StreamFault::Unanswered { rate } => conditions.unanswered = rate,
        }
    }

    /// Applies a fault of a process.
    pub fn apply_process_fault(&mut self, fault: &ProcessFault) {
        match *fault {
            ProcessFault::Slow { node, us } => {
                self.nodes[node].slow = us * 1_000;
                if us > 0 {
                    self.count_effect(FaultEffect::Slow);
                }
            }
            ProcessFault::Rate { node, millionths } => {
                self.set_rate(node, millionths);
                self.count_effect(FaultEffect::Clock);
            }
            ProcessFault::Deaf { node, deaf } => self.nodes[node].deaf = deaf,
            ProcessFault::Refuse { node, rate } => self.nodes[node].refuse = rate,
            ProcessFault::Keys { node, ref keys } => {
                self.set_keys(node, keys);
            }
        }
    }

    /// Ends all faults of messages, except that the network still loses messages of more than `longest` bytes.
    pub fn end_network_faults(&mut self, longest: Option<usize>) {
        self.set_conditions(NetworkConditions {
            longest,
            ..NetworkConditions::default()
        });
        self.network.cuts.clear();
        self.network.captures = false;
        let recordings = self.recordings.as_mut();
        for pipe in recordings.map_or_else(Vec::new, |it| it.streams.end()) {
            self.reset_both_ends(pipe);
        }
        self.part(&[]);
    }

    /// Ends all faults of a process.
    pub fn end_process_faults(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        (node.deaf, node.broadcasts_lost, node.disk_full) = (false, false, false);
        (node.slow, node.refuse) = (0, 0);
        self.set_rate(at, 0);
    }
}

/// Checks that times, node numbers and clock rates are within the simulator's limits. Clock rates are in millionths.
///
/// # Errors
/// Returns the reason if a value is out of range.
pub fn check<W>(schedule: &impl Schedule<Fault = Fault<W>>, max_rate: i32) -> Result<(), String>
where
    Fault<W>: schedule::FaultFields + fmt::Debug,
{
    let Parts {
        time_us,
        keys,
        actions,
        ..
    } = schedule.parts();
    keys.check()?;
    if time_us > MAX_TIME_US {
        return Err("a time of more than a year".into());
    }
    for Action { fault, .. } in actions {
        if !fault.is_among(schedule.nodes()) {
            return Err(format!("unknown node: {fault:?}"));
        }
        if let Fault::Process(ProcessFault::Keys { keys, .. }) = fault {
            keys.check()?;
        }
        if let Fault::Process(ProcessFault::Rate { millionths, .. }) = fault
            && millionths.unsigned_abs() > max_rate.unsigned_abs()
        {
            return Err(format!("{millionths} millionths are more than {max_rate}"));
        }
    }
    Ok(())
}

/// Returns the largest delay that these faults cause.
pub fn max_delay<W>(actions: &[Action<Fault<W>>]) -> Duration {
    let late = actions.iter().map(|action| match action.fault {
        Fault::Network(NetworkFault::Reorder { ms, .. }) => ms,
        Fault::Network(NetworkFault::Delay { ms, jitter_ms }) => ms + jitter_ms,
        _ => 0,
    });
    Duration::from_millis(late.max().unwrap_or(0))
}
