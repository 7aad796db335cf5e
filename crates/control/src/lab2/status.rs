//! The status of a node of a Lab2 ring. The field names are the JSON keys of `docs/reference/status.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Grade, PendingReason};
use crate::{ConfigStatus, Health, NodeStatus, Percentiles, TrustStatus};

/// The status of a node: the node and the ring, as the node knows them.
#[expect(clippy::struct_excessive_bools, reason = "independent properties")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's version.
    #[serde(default)]
    pub ringd: String,
    /// The start of the daemon by the machine's clock, in milliseconds since 1970.
    #[serde(default)]
    pub started_ms: u64,
    /// Time since the start, in nanoseconds.
    #[serde(default)]
    pub up_ns: u64,
    /// The name of the interface.
    pub interface: String,
    /// The node's MAC address.
    pub mac: String,
    /// The link: `up`, or the reason why the node cannot send (`is down`, `has no carrier`, `is gone`, …).
    pub link: String,
    /// The state of the node: OWNER, WAITER, LOOSER or GENERATING.
    pub state: String,
    /// The token that the node holds. If the node holds no token, this is the strongest token that it knows. The token
    /// is `null` if the node knows no token.
    pub token: Option<TokenStatus>,
    /// The grade of the token that the node holds: `alone`, `all-heard` or `quorum`. If the node holds no token, the
    /// grade is `alone`.
    #[serde(default)]
    pub grade: String,
    /// Whether the node is paused. A paused node takes part in the ring, but does not own the token.
    #[serde(default)]
    pub paused: bool,
    /// Whether the node is deaf: it hears no other member, though other members may exist. Other members do not accept
    /// a deaf node as owner.
    #[serde(default)]
    pub deaf: bool,
    /// Whether the node is unfit: it gave up the token because no member took it. An unfit node does not own the token
    /// again before it receives frames that are addressed to it.
    #[serde(default)]
    pub unfit: bool,
    /// Whether the node is apart: its times differ too much from the times of the ring. A node that is apart takes no
    /// part in elections, and does not own the token.
    #[serde(default)]
    pub apart: bool,
    /// The health of the node and its ring.
    #[serde(default = "Health::default_when_absent")]
    pub health: Health,
    /// The problems and the remedies, as sentences, the worst first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// The numbers of members: how many are present, and how many a quorum needs.
    #[serde(default)]
    pub quorum: QuorumStatus,
    /// Whether the node can write its state file. A node that cannot write its state file does not own the token.
    #[serde(default = "yes")]
    pub stored: bool,
    /// The reason why a pause is incomplete. The reason is `null` if the node is not paused, or if the pause is
    /// complete.
    #[serde(default)]
    pub pausing: Option<PendingReason>,
    /// The end and the reason of the pause. Absent if the node is not paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseStatus>,
    /// The owner, as the node knows it.
    pub owner: Option<String>,
    /// The owner's name, as in [`MemberStatus`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_name: Option<String>,
    /// The program that holds the token on the owner's machine. The program is `null` if no program holds the token, or
    /// if the owner did not announce the program.
    #[serde(default)]
    pub holder: Option<HolderStatus>,
    /// Nanoseconds since the node received the last frame about the token. The time is `null` if no such frame ever
    /// arrived.
    pub heard_about_token_ns: Option<u64>,
    /// The member table, sorted by MAC address, including this node.
    pub members: Vec<MemberStatus>,
    /// The XXH3-64 hash of the member table, as 16 hexadecimal digits.
    pub ring_hash: String,
    /// The clients of this machine that hold the token or wait for it. The order is the order in which they get the
    /// token.
    #[serde(default)]
    pub clients: Vec<ClientStatus>,
    /// The last run of each job that runs once in a period.
    #[serde(default)]
    pub runs: Vec<RunStatus>,
    /// The numbers of granted, lost and refused locks of this machine since the start.
    #[serde(default)]
    pub locks: LockTotals,
    /// The keys of the node.
    #[serde(default)]
    pub trust: TrustStatus,
    /// The limits of the daemon's sandbox that this kernel does not support.
    #[serde(default)]
    pub missing_limits: Vec<String>,
    /// The constants that the node uses.
    pub constants: ConstantsStatus,
    /// The options of the daemon, with the source of each value.
    #[serde(default)]
    pub config: ConfigStatus,
    /// The counters since the start.
    pub counters: Counters,
}

const fn yes() -> bool {
    true
}

impl From<&Status> for NodeStatus {
    /// Creates a status without the key `system`. Lab2 was the first system, so its status never had the key `system`.
    fn from(status: &Status) -> Self {
        Self::of_keys(status)
    }
}

impl Status {
    /// Whether the node is in a ring, possibly as the only member. Three conditions must hold. The node's link is up.
    /// The node owns the token or knows an owner. If the node knows other members that have not left, it hears at least
    /// one of them.
    pub fn is_in_ring(&self) -> bool {
        let is_member = self.link == "up" && matches!(self.state.as_str(), "OWNER" | "WAITER");
        is_member && !self.is_cut_off()
    }

    /// Whether the node hears no other member, although it knows at least one member that has not left.
    pub fn is_cut_off(&self) -> bool {
        self.deaf && self.others().any(|member| member.state != "left")
    }

    /// Returns the other members.
    pub fn others(&self) -> impl Iterator<Item = &MemberStatus> {
        self.members.iter().filter(|member| member.mac != self.mac)
    }

    /// Returns a text for people: the state of the node, and special conditions such as its grade.
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

/// Numbers of members. They show whether the ring has a quorum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumStatus {
    /// The number of members that are present, as this node knows it. This node is included.
    pub present: usize,
    /// The number of members that a quorum needs.
    pub needed: usize,
    /// The size of the ring: the number of known members or the expected number, whichever is larger.
    pub ring: usize,
}

/// A token's identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStatus {
    /// The progress of the token. The progress grows with every handover.
    pub progress: u64,
    /// The MAC address of the node that created the token.
    pub author: String,
    /// The number that the author gave the token.
    pub number: u32,
    /// The fencing token: progress-author-number.
    #[serde(default)]
    pub fencing: String,
}

/// The program that holds the token. The program may run on a different machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderStatus {
    /// The program's label, or the program's process if the program has no label.
    pub program: String,
    /// Nanoseconds since the grant.
    pub since_ns: u64,
}

/// A client of this machine that holds the token or waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    /// The label that the client gave itself.
    pub label: String,
    /// The number of the process; `null` if it is unknown.
    pub pid: Option<i32>,
    /// Whether the client holds the token.
    pub holds: bool,
    /// Nanoseconds since the grant, or since the request.
    pub since_ns: u64,
    /// The grade that the client requires. Absent if the client requires no grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Grade>,
}

/// The last run of a job that runs once in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    /// The job's name.
    pub name: String,
    /// The MAC address of the machine that ran the job.
    pub runner: String,
    /// The name of this machine, as in [`MemberStatus`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_name: Option<String>,
    /// The outcome of the run: `begun` (the end of the run is unknown), `done`, `failed`, or `void` (the run never
    /// began).
    pub outcome: String,
    /// Whether the run was lost: the machine lost the token after the beginning and before the end of the run.
    #[serde(default)]
    pub lost: bool,
    /// Nanoseconds since the run began.
    pub began_ns: u64,
    /// The period in nanoseconds, from the beginning of the run.
    pub every_ns: u64,
}

/// The numbers of granted, lost and refused locks. The maps contain all reasons, also those with the number 0.
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
    /// The member's name. The daemon gives the host name that the member announced. If the files of the user's machine
    /// contain a name for the member, `ringctl` shows this name instead. Absent if the member has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member's IP address (`10.0.0.1`, `fe80::1`). The address is `null` if the node knows no address of the
    /// member.
    pub ip: Option<String>,
    /// The state of the member: `alive`, `silent` (not heard for long), `left` (the member said goodbye), `deaf` (the
    /// member announces that it hears no other member) or `paused`.
    #[serde(default)]
    pub state: String,
    /// The number of times that owners will still skip the member.
    pub penalty: u32,
    /// Whether the member is paused.
    #[serde(default)]
    pub paused: bool,
    /// The end and the reason of the pause. Absent if no operator paused the member, or if the member did not announce
    /// the end and the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseStatus>,
    /// The member's preference (`--prefer`); 0 if it has none, or did not announce it.
    #[serde(default)]
    pub preference: u8,
    /// Nanoseconds since the member's last frame; 0 for this node. The time is `null` if this node has never heard the
    /// member, and knows it only because other members named it.
    pub last_seen_ns: Option<u64>,
    /// A text with the constants of the member that differ from this node's constants. Only constants that should be
    /// equal are compared. The text is `null` if all compared constants are equal.
    #[serde(default)]
    pub differs: Option<String>,
    /// The version of the member's ringd; `null` if unknown.
    #[serde(default)]
    pub version: Option<String>,
    /// The id of the key with which the member signs its frames. The id is `null` if this node has no keys, or if no
    /// frame of the member had a valid signature.
    #[serde(default)]
    pub key: Option<u32>,
}

/// The end and the reason of a pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseStatus {
    /// Nanoseconds until the pause ends by itself. The time is `null` if the pause does not end by itself.
    #[serde(default)]
    pub left_ns: Option<u64>,
    /// The operator's reason. The reason is `null` if the operator gave none.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The constants that the node uses. Times are in nanoseconds.
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
    /// The constant IDLE_HOLD, in nanoseconds. The time is `null` if IDLE_HOLD is unlimited.
    pub idle_hold_ns: Option<u64>,
    /// The EtherType of the frames, as in `0x88b5`.
    pub ethertype: String,
    /// Maximum number of members in the table.
    pub max_members: usize,
    /// The expected number of members. If the number is `null`, the ring counts as complete with the known members.
    #[serde(default)]
    pub expect: Option<usize>,
    /// The time after which the table forgets a silent member. If the time is `null`, the table never forgets a member.
    #[serde(default)]
    pub forget_after_ns: Option<u64>,
}

/// Counters since the start. The maps contain all kinds and all reasons, also those with the number 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Received valid frames by kind (`TAKE_TOKEN`, …).
    pub received: BTreeMap<String, u64>,
    /// Sent frames by kind.
    pub sent: BTreeMap<String, u64>,
    /// Frames that could not be sent, by kind.
    pub send_failed: BTreeMap<String, u64>,
    /// Received frames that had no effect, by reason (`truncated`, `kernel_queue_full`, …).
    pub dropped: BTreeMap<String, u64>,
    /// Received frames whose signature was missing, wrong or used before, by reason (`unsigned`, …). If the node
    /// accepts unsigned frames, it accepted some of these frames. It dropped the others.
    #[serde(default)]
    pub unproven: BTreeMap<String, u64>,
    /// State changes by kind (`WAITER->OWNER`, …).
    pub state_changes: BTreeMap<String, u64>,
    /// State changes by reason (`token_taken`, …).
    pub state_change_reasons: BTreeMap<String, u64>,
    /// The number of acknowledged handovers.
    pub hand_overs: u64,
    /// The number of failed handovers.
    pub hand_overs_failed: u64,
    /// The durations of handovers, from the first TAKE_TOKEN to the acknowledgement.
    pub hand_over_latency: Percentiles,
    /// The number of times that a member did not fit into the member table.
    pub table_full: u64,
    /// The number of late wake-ups of the event loop.
    pub late_wake_ups: u64,
    /// The counters of `--busy-poll`. Absent if the daemon does not poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<BusyPollCounters>,
}

/// The counters of `--busy-poll`. The values are at most one second old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyPollCounters {
    /// Time that the daemon spent polling, in nanoseconds.
    pub time_ns: u64,
    /// The number of times that polling found a frame without a system call.
    pub found: u64,
    /// The number of times that the daemon polled, found no frame, and then slept.
    pub given_up: u64,
}
