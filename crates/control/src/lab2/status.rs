//! The status of a node of a Lab2 ring. The field names are the keys of its JSON (`docs/status.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Grade, PendingReason};
use crate::{Health, NodeStatus, Percentiles};

/// A daemon's view of its ring.
#[expect(
    clippy::struct_excessive_bools,
    reason = "properties that know nothing of each other"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's version.
    #[serde(default)]
    pub ringd: String,
    /// When it was started: milliseconds since 1970, by the clock of then.
    #[serde(default)]
    pub started_ms: u64,
    /// For how long it has run, in nanoseconds.
    #[serde(default)]
    pub up_ns: u64,
    /// The interface's name.
    pub interface: String,
    /// Its own address.
    pub mac: String,
    /// `up`, or why nothing can be sent: `is down`, `has no carrier`, `is gone`, ….
    pub link: String,
    /// OWNER, WAITER, LOOSER or GENERATING.
    pub state: String,
    /// The token held, or the strongest known; `null` if none is.
    pub token: Option<TokenStatus>,
    /// How safe the token is that is held here: `alone`, `view` or `quorum`; `alone` if none is.
    #[serde(default)]
    pub grade: String,
    /// The node takes part, but owns nothing.
    #[serde(default)]
    pub paused: bool,
    /// The node hears nobody, though it may not be alone: others pay no heed to it as an owner.
    #[serde(default)]
    pub deaf: bool,
    /// Nobody takes the token from this node: it owns nothing until frames to it alone arrive.
    #[serde(default)]
    pub unfit: bool,
    /// Its times are too far from the ring's: it neither elects nor owns.
    #[serde(default)]
    pub apart: bool,
    /// How well the node and its ring do what they are for.
    #[serde(default = "Health::untold")]
    pub health: Health,
    /// What is wrong and what to do, as sentences, the worst first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// How many members are there, and how many a quorum has.
    #[serde(default)]
    pub quorum: QuorumStatus,
    /// What must survive a restart can be stored. A node that cannot store it owns nothing.
    #[serde(default = "yes")]
    pub stored: bool,
    /// What a pause waits for that is not complete; `null`: there is none, or it is.
    #[serde(default)]
    pub pausing: Option<PendingReason>,
    /// Who holds it as far as is known.
    pub owner: Option<String>,
    /// The program that holds the token on the owner's machine; `null`: none does, or the owner has not told of it.
    #[serde(default)]
    pub holder: Option<HolderStatus>,
    /// Nanoseconds since the token was heard of; `null`: not yet.
    pub heard_about_token_ns: Option<u64>,
    /// The member table in order of MAC, the node itself included.
    pub members: Vec<MemberStatus>,
    /// The table's XXH3-64 as 16 hex digits.
    pub ring_hash: String,
    /// Who holds the token on this machine, and who waits for it, in order.
    #[serde(default)]
    pub clients: Vec<ClientStatus>,
    /// The last run of each job that runs once in a period.
    #[serde(default)]
    pub runs: Vec<RunStatus>,
    /// What has become of all locks of this machine since the daemon started.
    #[serde(default)]
    pub locks: LockTotals,
    /// The constants in force.
    pub constants: ConstantsStatus,
    /// What has happened since the daemon started.
    pub counters: Counters,
}

const fn yes() -> bool {
    true
}

impl From<&Status> for NodeStatus {
    /// A ring's status was there before there was any other system's: it has no key `system`.
    fn from(status: &Status) -> Self {
        Self::of_keys(status)
    }
}

impl Status {
    /// Whether the node is in a ring, be it one of its own: its link is up, it holds the token or
    /// trusts that it is held, and it is not cut off from members that it knows.
    pub fn is_in_ring(&self) -> bool {
        let is_member = self.link == "up" && matches!(self.state.as_str(), "OWNER" | "WAITER");
        is_member && !self.is_cut_off()
    }

    /// Whether the node hears nobody, though it knows another member that has not said that it leaves.
    pub fn is_cut_off(&self) -> bool {
        self.deaf && self.others().any(|member| member.state != "left")
    }

    /// Returns the other members.
    pub fn others(&self) -> impl Iterator<Item = &MemberStatus> {
        self.members.iter().filter(|member| member.mac != self.mac)
    }

    /// The state, and what is to be known of it, for people.
    pub fn standing(&self) -> String {
        let mut text = self.state.clone();
        if self.state == "OWNER" && !self.grade.is_empty() {
            text = format!("{text}, grade {}", self.grade);
        }
        if let Some(why) = self.pausing {
            text = format!("{text}, pausing: {}", why.text());
        } else if self.paused {
            text.push_str(", paused: owns nothing");
        }
        if self.unfit {
            text.push_str(", no member takes the token from it: owns nothing");
        }
        if self.apart {
            text.push_str(", its times are too far from the ring's: owns nothing");
        }
        if self.is_cut_off() {
            text.push_str(", hears nobody");
        }
        if !self.stored {
            text.push_str(", cannot write its state file: owns nothing");
        }
        text
    }
}

/// Whether a quorum is possible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumStatus {
    /// How many members are there, this node included, as far as it can tell.
    pub present: usize,
    /// How many a quorum has.
    pub needed: usize,
    /// How many members the ring has: those that are known, or more if more are expected.
    pub ring: usize,
}

/// A token's identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStatus {
    /// Grows with every hand-over.
    pub progress: u64,
    /// The address of the station that made the chain.
    pub author: String,
    /// That station's number for it.
    pub number: u32,
    /// The same as a fencing token: progress-author-number.
    #[serde(default)]
    pub fencing: String,
}

/// The program that holds the token, on whatever machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderStatus {
    /// What it says that it is, or its process.
    pub program: String,
    /// Nanoseconds since it has the token.
    pub since_ns: u64,
}

/// A client of this machine that holds the token, or waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    /// What it says that it is.
    pub label: String,
    /// Its process; `null` if that is not known.
    pub pid: Option<i32>,
    /// Whether it holds the token.
    pub holds: bool,
    /// Nanoseconds since it has it, or has waited for it.
    pub since_ns: u64,
    /// How safe it requires the token to be; absent: it does not mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Grade>,
}

/// The last run of a job that runs once in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    /// The job.
    pub name: String,
    /// Who ran it.
    pub runner: String,
    /// `begun`: nobody has said that it has ended; `done`, `failed`, or `void`: it never began.
    pub outcome: String,
    /// It was begun, and nobody is at work on it any longer: its runner has lost the token.
    #[serde(default)]
    pub lost: bool,
    /// How long ago it began, in nanoseconds.
    pub began_ns: u64,
    /// For how long it counts from then on, in nanoseconds.
    pub every_ns: u64,
}

/// How often locks were granted, lost and refused. Every key of the maps is always there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockTotals {
    /// Locks that were granted.
    pub granted: u64,
    /// Locks that ended before they were given back, by reason (`yield`, …).
    pub lost: BTreeMap<String, u64>,
    /// Requests that were not granted, by reason (`timeout`, …).
    pub refused: BTreeMap<String, u64>,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its address on the segment.
    pub mac: String,
    /// Its name on the machine of who asks, which `ringctl` adds; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its ip (`10.0.0.1`, `fe80::1`); `null` if it has none or none is known yet.
    pub ip: Option<String>,
    /// `alive`, `silent` (not heard for long), `left` (it has said so), `deaf` (it says that it hears nobody)
    /// or `paused`.
    #[serde(default)]
    pub state: String,
    /// For how many more turns it is passed over.
    pub penalty: u32,
    /// It takes part, but owns nothing for now.
    #[serde(default)]
    pub paused: bool,
    /// Nanoseconds since its last frame; `null`: only heard of. 0 for the node itself.
    pub last_seen_ns: Option<u64>,
    /// In what it differs from this node although all members must agree; `null`: in nothing.
    #[serde(default)]
    pub differs: Option<String>,
    /// The version of its ringd; `null`: it has not told that.
    #[serde(default)]
    pub version: Option<String>,
}

/// The constants in force, times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantsStatus {
    /// HEART_BEAT_PERIOD.
    pub heartbeat_ns: u64,
    /// WAITER_TIMEOUT.
    pub waiter_timeout_ns: u64,
    /// LOOSER_TIMEOUT.
    pub looser_timeout_ns: u64,
    /// LOOSER_ANSWER_TIMEOUT.
    pub looser_answer_timeout_ns: u64,
    /// TAKE_TIMEOUT.
    pub take_timeout_ns: u64,
    /// TAKE_ATTEMPTS.
    pub take_attempts: u32,
    /// IDLE_HOLD; `null`: for ever.
    pub idle_hold_ns: Option<u64>,
    /// The frames' EtherType, as `0x88b5`.
    pub ethertype: String,
    /// The most members that the table holds.
    pub max_members: usize,
    /// How many members the ring is to have; `null`: those that are known.
    #[serde(default)]
    pub expect: Option<usize>,
    /// For how long a silent member stays in the table; `null`: for good.
    #[serde(default)]
    pub forget_after_ns: Option<u64>,
}

/// Counters since the start. Every key of the maps is always there, be its value 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Valid frames received, by kind (`TAKE_TOKEN`, …).
    pub received: BTreeMap<String, u64>,
    /// Frames accepted for sending, by kind.
    pub sent: BTreeMap<String, u64>,
    /// Frames that could not be sent, by kind.
    pub send_failed: BTreeMap<String, u64>,
    /// Received frames without effect, by reason (`truncated`, `kernel_queue_full`, …).
    pub dropped: BTreeMap<String, u64>,
    /// State changes (`WAITER->OWNER`, …).
    pub state_changes: BTreeMap<String, u64>,
    /// Why the state changed (`token_taken`, …).
    pub state_change_reasons: BTreeMap<String, u64>,
    /// Hand-overs to other members that were acknowledged.
    pub hand_overs: u64,
    /// Hand-overs that failed.
    pub hand_overs_failed: u64,
    /// From the first TAKE_TOKEN to the acknowledgement.
    pub hand_over_latency: Percentiles,
    /// Authors that the full table did not take.
    pub table_full: u64,
    /// Wake-ups at which the loop found itself late.
    pub late_wake_ups: u64,
}
