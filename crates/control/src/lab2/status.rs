//! The status of a node of a Lab2 ring. The field names are the keys of its JSON (`docs/status.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Grade, PendingReason};
use crate::{Health, NodeStatus, Percentiles};

/// The status of a node: its view of the ring.
#[expect(clippy::struct_excessive_bools, reason = "independent properties")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's version.
    #[serde(default)]
    pub ringd: String,
    /// The time of the start in milliseconds since 1970, by the clock at that time.
    #[serde(default)]
    pub started_ms: u64,
    /// Time since the start, in nanoseconds.
    #[serde(default)]
    pub up_ns: u64,
    /// The name of the interface.
    pub interface: String,
    /// The node's MAC address.
    pub mac: String,
    /// `up`, or the reason why the node cannot send: `is down`, `has no carrier`, `is gone`, ….
    pub link: String,
    /// OWNER, WAITER, LOOSER or GENERATING.
    pub state: String,
    /// The held token, or the strongest known one; `null` if none is known.
    pub token: Option<TokenStatus>,
    /// The grade of the held token: `alone`, `view` or `quorum`; `alone` if none is held.
    #[serde(default)]
    pub grade: String,
    /// Whether the node is paused: it takes part but does not own the token.
    #[serde(default)]
    pub paused: bool,
    /// Whether the node hears no other member, though others may exist. Then they ignore it as an owner.
    #[serde(default)]
    pub deaf: bool,
    /// Whether no member takes the token from this node. Then it does not own the token until it receives frames to
    /// its own address.
    #[serde(default)]
    pub unfit: bool,
    /// Whether its times differ too much from the ring's. Then it neither elects nor owns.
    #[serde(default)]
    pub apart: bool,
    /// The health of the node and its ring.
    #[serde(default = "Health::unreported")]
    pub health: Health,
    /// The problems and the remedies, as sentences, the worst first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// The number of present members, and of members of a quorum.
    #[serde(default)]
    pub quorum: QuorumStatus,
    /// Whether the state file can be written. Otherwise the node does not own the token.
    #[serde(default = "yes")]
    pub stored: bool,
    /// The condition that an incomplete pause waits for; `null` without one.
    #[serde(default)]
    pub pausing: Option<PendingReason>,
    /// The owner, as far as the node knows.
    pub owner: Option<String>,
    /// The program that holds the token on the owner's machine; `null` if none does, or the owner has not announced
    /// it.
    #[serde(default)]
    pub holder: Option<HolderStatus>,
    /// Nanoseconds since the last frame about the token; `null` before the first.
    pub heard_about_token_ns: Option<u64>,
    /// The member table, sorted by MAC address, including this node.
    pub members: Vec<MemberStatus>,
    /// The XXH3-64 hash of the table, as 16 hexadecimal digits.
    pub ring_hash: String,
    /// The clients of this machine that hold the token or wait for it, in order.
    #[serde(default)]
    pub clients: Vec<ClientStatus>,
    /// The last run of each job that runs once in a period.
    #[serde(default)]
    pub runs: Vec<RunStatus>,
    /// The totals of this machine's locks since the start.
    #[serde(default)]
    pub locks: LockTotals,
    /// The constants in force.
    pub constants: ConstantsStatus,
    /// The counters since the start.
    pub counters: Counters,
}

const fn yes() -> bool {
    true
}

impl From<&Status> for NodeStatus {
    /// Creates a status without the key `system`: Lab2 was the first system, and had no such key.
    fn from(status: &Status) -> Self {
        Self::of_keys(status)
    }
}

impl Status {
    /// Whether the node is in a ring, even if it is alone in it. Its link is up, it owns the token or trusts that
    /// another member does, and it hears the members that it knows.
    pub fn is_in_ring(&self) -> bool {
        let is_member = self.link == "up" && matches!(self.state.as_str(), "OWNER" | "WAITER");
        is_member && !self.is_cut_off()
    }

    /// Whether the node hears no other member, though it knows one that has not left.
    pub fn is_cut_off(&self) -> bool {
        self.deaf && self.others().any(|member| member.state != "left")
    }

    /// Returns the other members.
    pub fn others(&self) -> impl Iterator<Item = &MemberStatus> {
        self.members.iter().filter(|member| member.mac != self.mac)
    }

    /// Returns the state and its special conditions, for people.
    pub fn state_text(&self) -> String {
        let mut text = self.state.clone();
        if self.state == "OWNER" && !self.grade.is_empty() {
            text = format!("{text}, grade {}", self.grade);
        }
        if let Some(why) = self.pausing {
            text = format!("{text}, pausing: {}", why.text());
        } else if self.paused {
            text.push_str(", paused: does not own the token");
        }
        if self.unfit {
            text.push_str(", no member takes the token from it: must not own the token");
        }
        if self.apart {
            text.push_str(", its times differ too much from the ring's: must not own the token");
        }
        if self.is_cut_off() {
            text.push_str(", hears no other member");
        }
        if !self.stored {
            text.push_str(", cannot write its state file: must not own the token");
        }
        text
    }
}

/// The numbers for a quorum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumStatus {
    /// The number of present members, including this node, as far as it knows.
    pub present: usize,
    /// The number of members of a quorum.
    pub needed: usize,
    /// The number of members of the ring: the known ones, or more if more are expected.
    pub ring: usize,
}

/// A token's identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStatus {
    /// The progress, which grows with every handover.
    pub progress: u64,
    /// The MAC address of the node that created the token.
    pub author: String,
    /// The number that the author gave the token.
    pub number: u32,
    /// The fencing token: progress-author-number.
    #[serde(default)]
    pub fencing: String,
}

/// The program that holds the token, on any machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderStatus {
    /// The program's label, or its process.
    pub program: String,
    /// Nanoseconds since the grant.
    pub since_ns: u64,
}

/// A client of this machine that holds the token or waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    /// The client's label.
    pub label: String,
    /// The number of the process; `null` if it is unknown.
    pub pid: Option<i32>,
    /// Whether the client holds the token.
    pub holds: bool,
    /// Nanoseconds since the grant, or since the request.
    pub since_ns: u64,
    /// The required grade; absent if the client requires none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Grade>,
}

/// The last run of a job that runs once in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    /// The job's name.
    pub name: String,
    /// The MAC address of the machine that ran it.
    pub runner: String,
    /// `begun` (its end is unknown), `done`, `failed`, or `void` (it never began).
    pub outcome: String,
    /// Whether the run was lost: it was begun, and its machine lost the token.
    #[serde(default)]
    pub lost: bool,
    /// Nanoseconds since the run began.
    pub began_ns: u64,
    /// The period in nanoseconds, from the beginning of the run.
    pub every_ns: u64,
}

/// The totals of granted, lost and refused locks. The maps contain every key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockTotals {
    /// The number of granted locks.
    pub granted: u64,
    /// The number of lost locks by reason (`yield`, …).
    pub lost: BTreeMap<String, u64>,
    /// The number of refused requests by reason (`timeout`, …).
    pub refused: BTreeMap<String, u64>,
}

/// A member of the ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// The member's MAC address.
    pub mac: String,
    /// The member's name on the user's machine, which `ringctl` adds; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member's IP address (`10.0.0.1`, `fe80::1`); `null` if none is known.
    pub ip: Option<String>,
    /// `alive`, `silent` (not heard for long), `left` (it has announced that), `deaf` (it announces that it hears no
    /// member) or `paused`.
    #[serde(default)]
    pub state: String,
    /// The number of turns in which the member is skipped.
    pub penalty: u32,
    /// Whether the member is paused.
    #[serde(default)]
    pub paused: bool,
    /// Nanoseconds since its last frame; `null` if only other members know it. 0 for this node.
    pub last_seen_ns: Option<u64>,
    /// A difference from this node that must not exist, as a text; `null` if there is none.
    #[serde(default)]
    pub differs: Option<String>,
    /// The version of the member's ringd; `null` if unknown.
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
    /// IDLE_HOLD; `null` if it is unlimited.
    pub idle_hold_ns: Option<u64>,
    /// The EtherType of the frames, as in `0x88b5`.
    pub ethertype: String,
    /// Maximum number of members in the table.
    pub max_members: usize,
    /// The expected number of members; `null` if the known members count.
    #[serde(default)]
    pub expect: Option<usize>,
    /// Time that a silent member stays in the table; `null` if it is unlimited.
    #[serde(default)]
    pub forget_after_ns: Option<u64>,
}

/// Counters since the start. The maps contain every key, even with the value 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Received valid frames by kind (`TAKE_TOKEN`, …).
    pub received: BTreeMap<String, u64>,
    /// Sent frames by kind.
    pub sent: BTreeMap<String, u64>,
    /// Frames that could not be sent, by kind.
    pub send_failed: BTreeMap<String, u64>,
    /// Received frames without effect by reason (`truncated`, `kernel_queue_full`, …).
    pub dropped: BTreeMap<String, u64>,
    /// State changes by kind (`WAITER->OWNER`, …).
    pub state_changes: BTreeMap<String, u64>,
    /// State changes by reason (`token_taken`, …).
    pub state_change_reasons: BTreeMap<String, u64>,
    /// The number of acknowledged handovers.
    pub hand_overs: u64,
    /// The number of failed handovers.
    pub hand_overs_failed: u64,
    /// The time from the first TAKE_TOKEN to the acknowledgement.
    pub hand_over_latency: Percentiles,
    /// The number of authors that did not fit into the table.
    pub table_full: u64,
    /// The number of late wake-ups of the event loop.
    pub late_wake_ups: u64,
}
