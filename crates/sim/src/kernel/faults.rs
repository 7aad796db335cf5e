//! What goes wrong in the same way whatever the system: with messages, with connections, with processes.
//!
//! A system's faults hold these beside its own; the names of fields are those of its schedules' files. What is set
//! holds until it is set anew.

use serde::{Deserialize, Serialize};

use super::kinds::Trouble;
use super::schedule::Fault;
use super::streams::Carrier;
use super::system::System;
use super::world::World;

const MS: u64 = 1_000_000;

/// What happens to messages. A `rate` is so many messages of a thousand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum NetworkFault {
    /// `rate`: messages per thousand that are lost.
    Drop { rate: u16 },
    /// `rate`: messages per thousand that come twice.
    Duplicate { rate: u16 },
    /// `rate`: copies per thousand that come up to `ms` milliseconds later.
    Reorder { rate: u16, ms: u64 },
    /// All messages take `ms` milliseconds longer, and up to `jitter_ms` more.
    Delay { ms: u64, jitter_ms: u64 },
    /// `rate`: messages per thousand whose bits flip.
    Corrupt { rate: u16 },
    /// `groups`: the group of each node. Nodes hear those of their own only; with none all hear each other.
    Part { groups: Vec<u8> },
    /// `node` is not heard by `by`.
    Unheard { node: usize, by: usize },
    /// Whoever was `Unheard` is heard again.
    Hear,
    /// `count`: captured messages that are sent again.
    Replay { count: u16 },
}

/// What happens to connections that are made from now on. A `rate` is so many connections of a thousand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum StreamFault {
    /// `rate`: connections per thousand that are reset after a random number of bytes.
    Reset { rate: u16 },
    /// `byte`: after so many bytes all are reset.
    ResetAt { byte: u64 },
    /// `rate`: connections per thousand of which one way ends.
    Half { rate: u16 },
    /// `rate`: connections per thousand that stall.
    Stall { rate: u16 },
    /// `rate`: connections per thousand whose bytes arrive one by one.
    Dribble { rate: u16 },
    /// `rate`: connections per thousand that are never answered.
    Unanswered { rate: u16 },
}

/// What happens to the process of `node`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum ProcessFault {
    /// `us`: how long each of its turns takes, in microseconds.
    Slow { node: usize, us: u64 },
    /// `millionths`: how much faster its monotonic clock runs.
    Rate { node: usize, millionths: i32 },
    /// `deaf`: no message reaches it.
    Deaf { node: usize, deaf: bool },
    /// `rate`: send calls per thousand that are refused.
    Refuse { node: usize, rate: u16 },
}

impl Fault for NetworkFault {
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2] {
        match self {
            Self::Unheard { node, by } => [Some(node), Some(by)],
            _ => [None, None],
        }
    }

    fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Part { groups } => Some(groups),
            _ => None,
        }
    }
}

impl Fault for ProcessFault {
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2] {
        let (Self::Slow { node, .. }
        | Self::Rate { node, .. }
        | Self::Deaf { node, .. }
        | Self::Refuse { node, .. }) = self;
        [Some(node), None]
    }
}

impl NetworkFault {
    /// What ends it.
    #[must_use]
    pub const fn end(&self) -> Self {
        match self {
            Self::Drop { .. } => Self::Drop { rate: 0 },
            Self::Duplicate { .. } => Self::Duplicate { rate: 0 },
            Self::Reorder { .. } => Self::Reorder { rate: 0, ms: 0 },
            Self::Delay { .. } => Self::Delay {
                ms: 0,
                jitter_ms: 0,
            },
            Self::Corrupt { .. } => Self::Corrupt { rate: 0 },
            Self::Part { .. } => Self::Part { groups: Vec::new() },
            Self::Unheard { .. } | Self::Hear => Self::Hear,
            Self::Replay { .. } => Self::Replay { count: 0 },
        }
    }
}

impl StreamFault {
    /// What ends it.
    #[must_use]
    pub const fn end(&self) -> Self {
        match self {
            Self::Reset { .. } | Self::ResetAt { .. } => Self::Reset { rate: 0 },
            Self::Half { .. } => Self::Half { rate: 0 },
            Self::Stall { .. } => Self::Stall { rate: 0 },
            Self::Dribble { .. } => Self::Dribble { rate: 0 },
            Self::Unanswered { .. } => Self::Unanswered { rate: 0 },
        }
    }
}

impl ProcessFault {
    /// What ends it.
    #[must_use]
    pub const fn end(&self) -> Self {
        match *self {
            Self::Slow { node, .. } => Self::Slow { node, us: 0 },
            Self::Rate { node, .. } => Self::Rate {
                node,
                millionths: 0,
            },
            Self::Deaf { node, .. } => Self::Deaf { node, deaf: false },
            Self::Refuse { node, .. } => Self::Refuse { node, rate: 0 },
        }
    }
}

impl<S: System> World<S> {
    /// Something happens to messages.
    pub fn act_on_network(&mut self, fault: &NetworkFault) {
        let weather = &mut self.network.weather;
        match *fault {
            NetworkFault::Drop { rate } => weather.drop = rate,
            NetworkFault::Duplicate { rate } => weather.duplicate = rate,
            NetworkFault::Reorder { rate, ms } => {
                weather.reorder = rate;
                weather.reorder_by = (ms * MS).max(1);
            }
            NetworkFault::Delay { ms, jitter_ms } => {
                (weather.delay, weather.jitter) = (ms * MS, jitter_ms * MS);
            }
            NetworkFault::Corrupt { rate } => weather.corrupt = rate,
            NetworkFault::Part { ref groups } => {
                self.part(groups);
                if !groups.is_empty() {
                    self.meet_cut(Trouble::Partition);
                }
            }
            NetworkFault::Unheard { node, by } => {
                self.network.cuts.push((node, by));
                self.meet_cut(Trouble::OneWay);
            }
            NetworkFault::Hear => self.network.cuts.clear(),
            NetworkFault::Replay { count } => self.send_again(count),
        }
        self.network.look_up();
    }

    /// A cut counts when it keeps a message from arriving; and once more where there are connections: it keeps those waiting
    /// though nothing is lost.
    fn meet_cut(&mut self, cut: Trouble) {
        if S::Streams::ANY {
            self.meet(cut);
        }
    }

    /// Something happens to connections.
    pub const fn act_on_streams(&mut self, fault: &StreamFault) {
        let weather = &mut self.stream_weather;
        match *fault {
            StreamFault::Reset { rate } => (weather.reset, weather.reset_at) = (rate, None),
            StreamFault::ResetAt { byte } => weather.reset_at = Some(byte),
            StreamFault::Half { rate } => weather.half = rate,
            StreamFault::Stall { rate } => weather.stall = rate,
            StreamFault::Dribble { rate } => weather.dribble = rate,
            StreamFault::Unanswered { rate } => weather.unanswered = rate,
        }
    }

    /// Something happens to a process.
    pub fn act_on_process(&mut self, fault: &ProcessFault) {
        match *fault {
            ProcessFault::Slow { node, us } => {
                self.nodes[node].slow = us * 1_000;
                if us > 0 {
                    self.meet(Trouble::Slow);
                }
            }
            ProcessFault::Rate { node, millionths } => {
                self.set_rate(node, millionths);
                self.meet(Trouble::Clock);
            }
            ProcessFault::Deaf { node, deaf } => self.nodes[node].deaf = deaf,
            ProcessFault::Refuse { node, rate } => self.nodes[node].refuse = rate,
        }
    }
}
