//! What goes wrong in the same way whatever the system: with messages, with connections, with processes.
//!
//! A system's faults are these and its own; the names of fields are those of its schedules' files. What is set holds until
//! it is set anew.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kinds::Trouble;
use super::network::Weather;
use super::schedule::{self, Action, Fault as _, MAX_TIME_US, Parts, Schedule, declare_faults};
use super::streams::Carrier;
use super::system::System;
use super::world::World;

const MS: u64 = 1_000_000;

/// What goes wrong, or is wanted: in any world, or in one only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "there is no such fault, or a field of it is missing or wrong"
)]
pub enum Fault<W> {
    /// Something of one world's.
    World(W),
    /// Something happens to messages.
    Network(NetworkFault),
    /// Something happens to connections.
    Stream(StreamFault),
    /// Something happens to a process.
    Process(ProcessFault),
}

/// As schedules' readers think of it: what is one world's says so by its name.
impl<W: fmt::Debug> fmt::Debug for Fault<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World(fault) => fault.fmt(f),
            Self::Network(fault) => f.debug_tuple("Network").field(fault).finish(),
            Self::Stream(fault) => f.debug_tuple("Stream").field(fault).finish(),
            Self::Process(fault) => f.debug_tuple("Process").field(fault).finish(),
        }
    }
}

impl<W: schedule::Fault> schedule::Fault for Fault<W> {
    fn nodes_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::World(fault) => fault.nodes_mut(),
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

    fn end(&self) -> Self {
        match self {
            Self::World(fault) => Self::World(fault.end()),
            Self::Network(fault) => Self::Network(fault.end()),
            Self::Stream(fault) => Self::Stream(fault.end()),
            Self::Process(fault) => Self::Process(fault.end()),
        }
    }
}

declare_faults! {
    /// What happens to messages. A `rate` is so many messages of a thousand.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    NetworkFault {
        /// `rate`: messages per thousand that are lost.
        Drop[] { rate: u16 },
        /// `rate`: messages per thousand that come twice.
        Duplicate[] { rate: u16 },
        /// `rate`: copies per thousand that come up to `ms` milliseconds later.
        Reorder[] { rate: u16, ms: u64 },
        /// All messages take `ms` milliseconds longer, and up to `jitter_ms` more.
        Delay[] { ms: u64, jitter_ms: u64 },
        /// `rate`: messages per thousand whose bits flip.
        Corrupt[] { rate: u16 },
        /// `groups`: the group of each node. Nodes hear those of their own only; with none all hear each other.
        Part[] groups groups,
        /// `node` is not heard by `by`.
        Unheard[node, by] => Self::Hear {},
        /// Whoever was `Unheard` is heard again.
        Hear[],
        /// `count`: captured messages that are sent again.
        Replay[] { count: u16 },
    }
}

declare_faults! {
    /// What happens to connections that are made from now on. A `rate` is so many connections of a thousand.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    StreamFault {
        /// `rate`: connections per thousand that are reset after a random number of bytes.
        Reset[] { rate: u16 },
        /// `byte`: after so many bytes all are reset.
        ResetAt[] { byte: u64 } => Self::Reset { rate: 0 },
        /// `rate`: connections per thousand of which one way ends.
        Half[] { rate: u16 },
        /// `rate`: connections per thousand that stall.
        Stall[] { rate: u16 },
        /// `rate`: connections per thousand whose bytes arrive one by one.
        Dribble[] { rate: u16 },
        /// `rate`: connections per thousand that are never answered.
        Unanswered[] { rate: u16 },
    }
}

declare_faults! {
    /// What happens to the process of `node`.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    ProcessFault {
        /// `us`: how long each of its turns takes, in microseconds.
        Slow[node] { us: u64 },
        /// `millionths`: how much faster its monotonic clock runs.
        Rate[node] { millionths: i32 },
        /// `deaf`: no message reaches it.
        Deaf[node] { deaf: bool },
        /// `rate`: send calls per thousand that are refused.
        Refuse[node] { rate: u16 },
    }
}

impl<S: System> World<S> {
    /// Carries a fault out, unless it is of one world only: then it comes back.
    pub fn act_on_any<'a, W>(&mut self, fault: &'a Fault<W>) -> Option<&'a W> {
        match fault {
            Fault::World(fault) => return Some(fault),
            Fault::Network(fault) => self.act_on_network(fault),
            Fault::Stream(fault) => self.act_on_streams(fault),
            Fault::Process(fault) => self.act_on_process(fault),
        }
        None
    }

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
            NetworkFault::Hear {} => self.network.cuts.clear(),
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

    /// Nothing happens to messages any longer, but that those of more bytes than `longest` are lost.
    pub fn calm_network(&mut self, longest: Option<usize>) {
        self.set_weather(Weather {
            longest,
            ..Weather::default()
        });
        self.network.cuts.clear();
        self.network.captures = false;
        self.part(&[]);
    }

    /// Nothing happens to a process any longer.
    pub fn calm_process(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        (node.deaf, node.broadcasts_lost, node.disk_full) = (false, false, false);
        (node.slow, node.refuse) = (0, 0);
        self.set_rate(at, 0);
    }
}

/// Whether times, nodes and clocks' rates, in millionths, are within what a world can play.
///
/// # Errors
/// Says what is wrong.
pub fn check<W>(schedule: &impl Schedule<Fault = Fault<W>>, max_rate: i32) -> Result<(), String>
where
    Fault<W>: schedule::Fault + fmt::Debug,
{
    let Parts {
        time_us, actions, ..
    } = schedule.parts();
    if time_us > MAX_TIME_US {
        return Err("a run lasts a year at most".into());
    }
    for Action { fault, .. } in actions {
        if !fault.is_among(schedule.nodes()) {
            return Err(format!("there is no such node: {fault:?}"));
        }
        if let Fault::Process(ProcessFault::Rate { millionths, .. }) = fault
            && millionths.unsigned_abs() > max_rate.unsigned_abs()
        {
            return Err(format!("{millionths} millionths are more than {max_rate}"));
        }
    }
    Ok(())
}

/// By how much a message may be late.
pub fn latest<W>(actions: &[Action<Fault<W>>]) -> Duration {
    let late = actions.iter().map(|action| match action.fault {
        Fault::Network(NetworkFault::Reorder { ms, .. }) => ms,
        Fault::Network(NetworkFault::Delay { ms, jitter_ms }) => ms + jitter_ms,
        _ => 0,
    });
    Duration::from_millis(late.max().unwrap_or(0))
}
