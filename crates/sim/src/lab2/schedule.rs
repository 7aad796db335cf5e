//! A run as data: the faults, their times, and the seed for all other random values.

use std::time::Duration;

use ring_proto::lab2::Constants;
use ring_proto::time::nanos;

use super::notation::CARDS;
use super::outcome::{Rule, Stats};
use crate::kernel::keys::NodeKeys;
use crate::kernel::schedule::{
    FaultFields as _, MAX_TIME_US, Nodes, declare_faults, declare_schedule,
};

/// The maximum of all durations in a schedule.
const MAX_SPAN_US: u64 = 60 * 1_000_000;
/// The maximum error of a clock's rate on which the promises rely, in millionths.
const MAX_RATE: u32 = 10_000;
/// The maximum rate error of clocks that break this limit.
pub(super) const MAX_DRIFT: u32 = 200_000;
/// The maximum change of a wall clock. All dates fit into 64 bits of nanoseconds.
const MAX_STEP_US: u64 = 100 * MAX_TIME_US;

/// The initial and largest MTU of every interface.
pub(super) const MTU: u16 = 1_500;
/// The smallest MTU of the kernel. Frames without data, such as offers and heartbeats, fit into this MTU, but promises
/// do not fit.
pub(super) const MIN_MTU: u16 = 68;
/// An MTU that is too small only for tables and data. All other frames are short enough.
pub(super) const SMALL_MTU: u16 = 128;
/// The smallest payload limit that a run sets for the network. With this limit, an offer can pass, but a heartbeat with
/// its profile cannot pass.
pub(super) const NARROW_MTU_MIN: u16 = 68;

declare_schedule! {
    nodes {
        /// The number of nodes.
        pub nodes: usize,
    }
    own {
        /// IDLE_HOLD of the ring.
        pub idle_hold_us: u64,
        /// HEART_BEAT_PERIOD of the ring.
        #[serde(default = "default_heartbeat_us")]
        pub heartbeat_us: u64,
        /// TAKE_TIMEOUT of the ring.
        #[serde(default = "default_take_timeout_us")]
        pub take_timeout_us: u64,
        /// TAKE_ATTEMPTS of the ring.
        #[serde(default = "default_take_attempts")]
        pub take_attempts: u32,
        /// The time after which the tables forget a silent member.
        #[serde(default = "default_forget_us")]
        pub forget_us: u64,
        /// The preference of each node; empty if no node has a preference.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub preferences: Vec<u8>,
    }
    last {
        /// A fault that continues after the other faults end. While members request the token, one node misses frames
        /// or is slow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub lasting: Option<Fault>,
    }
}

/// Returns the default of HEART_BEAT_PERIOD.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u8) -> bool {
    *count == 0
}

pub(super) fn default_heartbeat_us() -> u64 {
    nanos(Constants::default().heartbeat) / 1_000
}

pub(super) fn default_take_timeout_us() -> u64 {
    nanos(Constants::default().take_timeout) / 1_000
}

/// Returns the default time after which silent members are forgotten.
pub(super) fn default_forget_us() -> u64 {
    Constants::default().forget.map_or(0, nanos) / 1_000
}

pub(super) fn default_take_attempts() -> u32 {
    Constants::default().take_attempts
}

impl Schedule {
    /// Returns the constants of the ring.
    pub fn constants(&self) -> Constants {
        let default = Constants::for_heartbeat(Duration::from_micros(self.heartbeat_us));
        Constants {
            idle_hold: Duration::from_micros(self.idle_hold_us),
            take_timeout: Duration::from_micros(self.take_timeout_us),
            take_attempts: self.take_attempts,
            // The tables also need space for nonexistent stations that a wrong table lists.
            max_members: default.max_members.max(2 * self.nodes),
            expect: Some(self.nodes),
            forget: Some(Duration::from_micros(self.forget_us)),
            ..default
        }
    }

    /// Checks that all values are within the simulator's limits.
    ///
    /// # Errors
    /// Returns the reason if a value is not within the limits.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=1 << 16).contains(&self.nodes) {
            return Err(format!("{} nodes: give 1 to 65,536", self.nodes));
        }
        let mut times = self.actions.iter().map(|action| action.at_us);
        if times.any(|at| at > MAX_TIME_US) || self.time_us > MAX_TIME_US {
            return Err("a time of more than a year".into());
        }
        let (least, spread) = self.latency_us;
        if least.max(spread) > MAX_SPAN_US {
            return Err("a frame takes more than a minute".into());
        }
        if let Some(fault) = &self.lasting
            && !matches!(
                fault,
                Fault::Cut { .. } | Fault::Broadcast { .. } | Fault::Slow { .. }
            )
        {
            return Err("the lasting fault must be 'cut', 'broadcast' or 'slow'".into());
        }
        self.keys.check()?;
        let bad = |action: &&Action| !action.fault.is_possible();
        if let Some(action) = self.actions.iter().find(bad) {
            let what = serde_json::to_string(action).unwrap_or_default();
            return Err(format!("{what}: out of range"));
        }
        self.constants().check().map_err(|error| error.to_string())
    }

    /// Returns the text of a file: JSON with one line per action.
    ///
    /// # Errors
    /// Returns no error for a schedule that this program has read or made.
    pub fn to_text(&self) -> serde_json::Result<String> {
        let mut head = self.clone();
        head.actions.clear();
        let head = serde_json::to_string_pretty(&head)?;
        let mut lines = Vec::with_capacity(self.actions.len());
        for action in &self.actions {
            lines.push(format!("\n    {}", serde_json::to_string(action)?));
        }
        let end = if lines.is_empty() { "" } else { "\n  " };
        let actions = format!("\"actions\": [{}{end}]", lines.join(","));
        Ok(head.replace("\"actions\": []", &actions) + "\n")
    }
}

impl Nodes for Schedule {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn take_node(&mut self, node: usize) -> bool {
        self.nodes -= 1;
        self.lasting.take_if(|fault| !fault.take_out(node));
        true
    }
}

declare_faults! {
    /// A fault or user action of Lab2. A rate stays valid until a new rate is set. When the faults end, all faults are
    /// undone.
    #[serde(tag = "do", rename_all = "snake_case")]
    Fault {
        /// Loses frames.
        Drop[] { of_1000: u16 },
        /// Delivers frames twice.
        Duplicate[] { of_1000: u16 },
        /// Delays single copies of frames by up to `by_us`.
        Reorder[] { of_1000: u16, by_us: u64 } => Self::Reorder { of_1000: 0, by_us },
        /// Delays all frames by `by_us`, and up to `jitter_us` more.
        Delay[] { by_us: u64, jitter_us: u64 },
        /// Flips bits of frames.
        Corrupt[] { of_1000: u16 },
        /// Stops all frames from the node `from` to the node `to`.
        Cut[from, to] => Self::Mend { from, to },
        /// Undoes a `Cut`.
        Mend[from, to],
        /// Splits the segment: only nodes of the same group hear each other. A node without a group is in group 0.
        Part[] groups groups,
        /// Stalls the process.
        Pause[node] => Self::Resume { node },
        /// Continues the process.
        Resume[node],
        /// Kills the process.
        Crash[node] {
            /// The time after which the guardian of the process sends its last frames. If the time is `None`, the
            /// guardian dies too.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            guardian_us: Option<u64>,
            /// The time after which all programs of the process have ended, and the guardian knows it. Without this
            /// time, the guardian does not learn of their ends.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            ended_us: Option<u64>,
        } => Self::Start { node },
        /// Kills the process and deletes its state file.
        Forget[node] => Self::Start { node },
        /// Starts a dead process.
        Start[node],
        /// Makes the monotonic clock faster by `millionths`.
        Rate[node] { millionths: i32 },
        /// Sets the wall clock forward, or back.
        Wall[node] { by_us: i64 },
        /// Makes each loop iteration last `turn_us`.
        Slow[node] { turn_us: u64 },
        /// Refuses frames at the send queue.
        Refuse[node] { of_1000: u16 },
        /// Gives the node the MAC address of another node.
        Twin[node, of] => Self::Untwin { node },
        /// Gives the node its own address back.
        Untwin[node],
        /// Sends captured frames again.
        Replay[] { frames: u16 },
        /// Sends wrong frames from a station that is not in the ring.
        Stranger[] { frames: u16 },
        /// Restarts the node with different times. The node's heartbeat is `percent` % of the ring's heartbeat, and the
        /// other times follow from the heartbeat. If `percent` is 100, the node has the ring's constants.
        Constants[node] {
            percent: u16,
            /// The number of members that the node expects, if all other nodes expect the ring's number.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            expect: Option<usize>,
        } => Self::Constants { node, percent: 100, expect: None },
        /// Makes the node request the token for some work.
        Want[node] {
            work_us: u64,
            /// Whether the work needs a quorum.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            quorum: bool,
        },
        /// Sets the token's data, if the node is the owner.
        Data[node] { len: u16 },
        /// Shuts the node down.
        Leave[node] => Self::Start { node },
        /// Changes the node's IP to the IP with the number `ip`. If `ip` is 0, removes the node's IP.
        Address[node] { ip: u8 },
        /// Makes the node `node` hand its token over to the node `to`, or to the next member if `to` equals `node`.
        Yield[node, to],
        /// Pauses the node: a paused node takes part, but cannot become the owner.
        HoldOff[node] => Self::HoldAgain { node },
        /// Ends the pause.
        HoldAgain[node],
        /// Takes the node's link down.
        Unplug[node] => Self::Plug { node },
        /// Brings the link up.
        Plug[node],
        /// Makes the node request the job with this number. With `quorum`, the job needs grade quorum; otherwise, any
        /// grade is enough. The job does not run if it has already run in its period.
        Once[node] { job: u8, quorum: bool, work_us: u64 },
        /// Starts a program at the node; the program takes the lock with the number `name`, works and releases the
        /// lock. With `quorum`, the lock needs grade quorum; otherwise, any grade is enough.
        Lock[node] {
            name: u8,
            shared: bool,
            quorum: bool,
            work_us: u64,
            /// Whether the program ignores the loss of its lock until the end of its lease.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            stubborn: bool,
            /// The number of further programs of the node that take the lock, each directly after the program before.
            #[serde(default, skip_serializing_if = "is_zero")]
            repeats: u8,
        },
        /// Makes the node ask all members for a report. If `probes` is not 0, the members also measure: each sends this
        /// number of probes to each other member, over `span_us`.
        Survey[node] { probes: u8, span_us: u64 },
        /// Gives the node the MAC address of one of its network cards. `card` is the number of this card. The node
        /// starts with card 0.
        Card[node] { card: u8 },
        /// Starts a station outside the ring that always sends WANT_TOKEN and never takes the token.
        Unresponsive[],
        /// Makes writes of the node's state file fail, or succeed again.
        Disk[node] { full: bool },
        /// Limits the payloads that the node's interface carries. The limit continues after the end of the faults.
        Mtu[node] { mtu: u16 },
        /// Loses all frames to the node, or lets them reach the node again.
        Deaf[node] { deaf: bool },
        /// Loses the unicasts from the node or to the node, or makes the node's interface refuse them.
        Unicast[node] {
            sent: bool,
            received: bool,
            #[serde(default)]
            refused: bool,
        },
        /// Loses broadcasts to the node, or lets them reach the node again.
        Broadcast[node] { lost: bool },
        /// Cuts the node off from all other nodes, or connects it again.
        Aside[node] { aside: bool },
        /// Loses payloads that are longer than `mtu` on their way.
        Narrow[] { mtu: u16 } => Self::Narrow { mtu: MTU },
        /// Sets a clock rate that is worse than the promises allow. If `millionths` is 0, the clock rate is right
        /// again.
        Drift[node] { millionths: i32 },
        /// Kills the process and restores an earlier version of its state file.
        Rollback[node] => Self::Start { node },
        /// Changes the node's keys.
        Keys[node] { keys: NodeKeys },
        /// Lets a host without a key send `frames` frames within `over_us`.
        Attack[] { frames: u16, over_us: u64 },
        /// Introduces `count` dead stations, beginning with the number `first`. Either one of these stations lists all
        /// other stations, or each of these stations has sent one frame.
        Dead[] { first: u16, count: u16, spoke: bool },
    }
}

impl Fault {
    /// Whether the fault is within the limits of the simulator and of the promises.
    fn is_possible(&self) -> bool {
        match *self {
            Self::Drop { of_1000 }
            | Self::Duplicate { of_1000 }
            | Self::Corrupt { of_1000 }
            | Self::Refuse { of_1000, .. } => of_1000 <= 1_000,
            Self::Reorder { of_1000, by_us } => of_1000 <= 1_000 && by_us <= MAX_SPAN_US,
            Self::Delay { by_us, jitter_us } => by_us.max(jitter_us) <= MAX_SPAN_US,
            Self::Rate { millionths, .. } => millionths.unsigned_abs() <= MAX_RATE,
            Self::Wall { by_us, .. } => by_us.unsigned_abs() <= MAX_STEP_US,
            Self::Drift { millionths, .. } => millionths.unsigned_abs() <= MAX_DRIFT,
            Self::Slow { turn_us, .. } => turn_us <= MAX_SPAN_US,
            Self::Want { work_us, .. }
            | Self::Once { work_us, .. }
            | Self::Lock { work_us, .. } => work_us <= MAX_SPAN_US,
            Self::Constants {
                percent, expect, ..
            } => (1..=10_000).contains(&percent) && expect != Some(0) && expect <= Some(1 << 16),
            Self::Survey { span_us, .. } => span_us <= MAX_SPAN_US,
            Self::Attack { over_us, .. } => over_us <= MAX_SPAN_US,
            Self::Keys { ref keys, .. } => keys.check().is_ok(),
            Self::Card { card, .. } => card < CARDS,
            Self::Mtu { mtu, .. } => (MIN_MTU..=MTU).contains(&mtu),
            Self::Narrow { mtu } => (NARROW_MTU_MIN..=MTU).contains(&mtu),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_was_written() {
        let schedule = Schedule {
            about: "an example".into(),
            seed: 7,
            nodes: 2,
            time_us: 1_000_000,
            preferences: vec![],
            keys: NodeKeys::default(),
            idle_hold_us: 0,
            heartbeat_us: 100_000,
            take_timeout_us: 30_000,
            take_attempts: 5,
            forget_us: 15_000_000,
            latency_us: (10, 20),
            stay_dead: vec![1],
            lasting: Some(Fault::Cut { from: 0, to: 1 }),
            actions: vec![
                Action {
                    at_us: 5,
                    fault: Fault::Part { groups: vec![0, 1] },
                },
                Action {
                    at_us: 9,
                    fault: Fault::Wall { node: 1, by_us: -3 },
                },
            ],
        };
        let text = schedule.to_text().unwrap();
        let line = r#"{"at_us":9,"do":"wall","node":1,"by_us":-3}"#;
        assert!(text.lines().any(|l| l.trim() == line), "{text}");
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
        assert_eq!(schedule.constants().idle_hold, Duration::ZERO);
        assert_eq!(schedule.constants().check(), Ok(()));
    }
}
