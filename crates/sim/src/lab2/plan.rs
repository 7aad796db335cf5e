//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::time::Duration;

use ring_proto::lab2::Constants;
use ring_proto::time::nanos;

use super::notation::CARDS;
use super::outcome::{Rule, Stats};
use crate::kernel::schedule::{Fault as _, MAX_TIME_US, Nodes, declare_faults, declare_schedule};

/// Nothing that lasts is longer.
const MAX_SPAN_US: u64 = 60 * 1_000_000;
/// The promises count on clocks whose rates differ by no more, in millionths.
const MAX_RATE: u32 = 10_000;
/// Clocks that break that run faster or slower by no more.
pub(super) const MAX_DRIFT: u32 = 200_000;
/// Wall clocks are set by no more: all dates stay within those that 64 bits of nanoseconds have.
const MAX_STEP_US: u64 = 100 * MAX_TIME_US;

/// The MTU of every interface at first, and the largest.
pub(super) const MTU: u16 = 1_500;
/// The smallest that the kernel allows: an offer fits it and a heartbeat without data, but no promise.
pub(super) const MIN_MTU: u16 = 68;
/// All but tables and data fits it.
pub(super) const SMALL_MTU: u16 = 128;
/// The shortest payloads that are all that gets through: an offer does, a heartbeat with its profile does not.
pub(super) const NARROWEST: u16 = 68;

declare_schedule! {
    nodes {
        /// How many nodes there are.
        pub nodes: usize,
    }
    own {
        /// IDLE_HOLD of the ring.
        pub idle_hold_us: u64,
        /// HEART_BEAT_PERIOD of the ring.
        #[serde(default = "usual_heartbeat")]
        pub heartbeat_us: u64,
        /// TAKE_TIMEOUT of the ring.
        #[serde(default = "usual_take_timeout")]
        pub take_timeout_us: u64,
        /// TAKE_ATTEMPTS of the ring.
        #[serde(default = "usual_take_attempts")]
        pub take_attempts: u32,
        /// For how long a silent member stays in the tables.
        #[serde(default = "usual_forget")]
        pub forget_us: u64,
    }
    last {
        /// What goes wrong when the other faults have ended, while members want the token: frames that are to reach
        /// one node do not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub lasting: Option<Fault>,
    }
}

/// HEART_BEAT_PERIOD where a schedule does not say otherwise.
pub(super) fn usual_heartbeat() -> u64 {
    nanos(Constants::default().heartbeat) / 1_000
}

/// TAKE_TIMEOUT where a schedule does not say otherwise.
pub(super) fn usual_take_timeout() -> u64 {
    nanos(Constants::default().take_timeout) / 1_000
}

/// How long silent members are remembered where a schedule does not say otherwise.
pub(super) fn usual_forget() -> u64 {
    Constants::default().forget.map_or(0, nanos) / 1_000
}

/// TAKE_ATTEMPTS where a schedule does not say otherwise.
pub(super) fn usual_take_attempts() -> u32 {
    Constants::default().take_attempts
}

impl Schedule {
    /// The constants of the ring.
    pub fn constants(&self) -> Constants {
        let default = Constants::for_heartbeat(Duration::from_micros(self.heartbeat_us));
        Constants {
            idle_hold: Duration::from_micros(self.idle_hold_us),
            take_timeout: Duration::from_micros(self.take_timeout_us),
            take_attempts: self.take_attempts,
            // Room for the phantoms that a lying table lists, too.
            max_members: default.max_members.max(2 * self.nodes),
            expect: Some(self.nodes),
            forget: Some(Duration::from_micros(self.forget_us)),
            ..default
        }
    }

    /// Whether a world can be made from it.
    ///
    /// # Errors
    /// Says what is wrong.
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
            return Err("what lasts is to be 'cut', 'broadcast' or 'slow'".into());
        }
        let bad = |action: &&Action| !action.fault.is_possible();
        if let Some(action) = self.actions.iter().find(bad) {
            let what = serde_json::to_string(action).unwrap_or_default();
            return Err(format!("{what}: out of range"));
        }
        self.constants().check().map_err(|error| error.to_string())
    }

    /// The file's text: JSON with a line for each action.
    ///
    /// # Errors
    /// Never for a schedule that was read or made by this program.
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
    /// What goes wrong, or is wanted. A rate holds until another is set; when the faults end all of
    /// them are undone.
    #[serde(tag = "do", rename_all = "snake_case")]
    Fault {
        /// Frames are lost.
        Drop[] { of_1000: u16 },
        /// Frames come twice.
        Duplicate[] { of_1000: u16 },
        /// Copies of frames come up to so much later than the frame would.
        Reorder[] { of_1000: u16, by_us: u64 } => Self::Reorder { of_1000: 0, by_us },
        /// All frames take longer by so much, and up to the jitter more.
        Delay[] { by_us: u64, jitter_us: u64 },
        /// Bits of frames flip.
        Corrupt[] { of_1000: u16 },
        /// What one node sends does not get to another.
        Cut[from, to] => Self::Mend { from, to },
        /// It does again.
        Mend[from, to],
        /// Only nodes of the same group hear each other; a node without a group is in group 0.
        Part[] groups groups,
        /// The process stands still.
        Pause[node] => Self::Resume { node },
        /// It goes on.
        Resume[node],
        /// The process dies.
        Crash[node] => Self::Start { node },
        /// The process dies and its state file is lost.
        Forget[node] => Self::Start { node },
        /// A dead process is started.
        Start[node],
        /// The monotonic clock runs faster by so many millionths.
        Rate[node] { millionths: i32 },
        /// The wall clock is set forward, or back.
        Wall[node] { by_us: i64 },
        /// Every turn takes so long.
        Slow[node] { turn_us: u64 },
        /// The send queue refuses frames.
        Refuse[node] { of_1000: u16 },
        /// The node gets the MAC address of another.
        Twin[node, of] => Self::Untwin { node },
        /// It gets its own back.
        Untwin[node],
        /// So many frames captured earlier are sent again.
        Replay[] { frames: u16 },
        /// A station that is not in the ring sends so many wrong frames.
        Stranger[] { frames: u16 },
        /// The node is started anew with a heartbeat of so many hundredths of the ring's, and all
        /// that follows from that; 100: with the ring's constants.
        Constants[node] {
            percent: u16,
            /// It expects so many members, if no other node is told another number than the ring has.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            expect: Option<usize>,
        } => Self::Constants { node, percent: 100, expect: None },
        /// The node wants the token, for so much work.
        Want[node] {
            work_us: u64,
            /// The work needs a quorum.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            quorum: bool,
        },
        /// The node sets the token's data, if it is the owner.
        Data[node] { len: u16 },
        /// The node is asked to shut down.
        Leave[node] => Self::Start { node },
        /// The node's ip changes to one of this number; 0: it no longer has one.
        Address[node] { ip: u8 },
        /// The node is told to hand the token over to that one, or, if that is itself, to the next.
        Yield[node, to],
        /// The node is told to take part, but to own nothing.
        HoldOff[node] => Self::HoldAgain { node },
        /// It may own again.
        HoldAgain[node],
        /// The node's link goes down.
        Unplug[node] => Self::Plug { node },
        /// It is up again.
        Plug[node],
        /// The node wants to run the job of this number, for so much work, unless it has run in its period: at
        /// grade quorum, or at any.
        Once[node] { job: u8, quorum: bool, work_us: u64 },
        /// The node gets the MAC address of its network card of this number; it began with number 0.
        Card[node] { card: u8 },
        /// From now on, for good, a station outside the ring says WANT_TOKEN all the time and takes nothing.
        Unresponsive[],
        /// The node's state file cannot be written, or can again.
        Disk[node] { full: bool },
        /// The node's interface sends and receives payloads of so many bytes at most. It stays so when the
        /// faults end.
        Mtu[node] { mtu: u16 },
        /// Nothing reaches the node, or all does again.
        Deaf[node] { deaf: bool },
        /// Frames to a single station are lost if the node has sent them, or is to receive them, or neither; or
        /// its interface refuses them.
        Unicast[node] {
            sent: bool,
            received: bool,
            #[serde(default)]
            refused: bool,
        },
        /// Frames to all do not reach the node, or do again.
        Broadcast[node] { lost: bool },
        /// Nothing reaches the node, and nobody gets what it sends; or all does again.
        Aside[node] { aside: bool },
        /// Payloads of more bytes than that are lost on their way.
        Narrow[] { mtu: u16 } => Self::Narrow { mtu: MTU },
        /// A clock's rate is off by more than the promises allow; 0: it is right again.
        Drift[node] { millionths: i32 },
        /// A process dies; its state file is as it was some writes before.
        Rollback[node] => Self::Start { node },
        /// So many stations that are gone, from that number on, are told of by one of them, or have spoken once
        /// each.
        Dead[] { first: u16, count: u16, spoke: bool },
    }
}

impl Fault {
    /// Whether it is within what the world can play and the promises allow.
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
            Self::Want { work_us, .. } | Self::Once { work_us, .. } => work_us <= MAX_SPAN_US,
            Self::Constants {
                percent, expect, ..
            } => (1..=10_000).contains(&percent) && expect != Some(0) && expect <= Some(1 << 16),
            Self::Card { card, .. } => card < CARDS,
            Self::Mtu { mtu, .. } => (MIN_MTU..=MTU).contains(&mtu),
            Self::Narrow { mtu } => (NARROWEST..=MTU).contains(&mtu),
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
            about: "a made-up one".into(),
            seed: 7,
            nodes: 2,
            time_us: 1_000_000,
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
