//! What is asked over the control socket, and what is answered (`docs/control.md`).

use serde::{Deserialize, Serialize};

use super::{NodeStatus, Status, TokenStatus};

/// The version of the protocol that this module describes.
pub const PROTOCOL: u32 = 1;

/// The longest label of a client, in bytes: a file may be called so.
pub const MAX_LABEL: usize = 255;

/// A request: `{"request":"status"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// Which protocol is spoken here.
    Version,
    /// How the daemon sees its ring.
    Status,
    /// The token, for this connection, until it says [`Request::Unlock`] or ends.
    Lock(LockRequest),
    /// The token, to run a job that has not run in its period.
    Once(OnceRequest),
    /// The job that this connection was granted the token for has ended.
    Ran {
        /// Whether it has succeeded.
        done: bool,
    },
    /// The job that this connection was granted the token for was not begun, and never will be.
    NotRun,
    /// How the work of this connection, which has the token, is ended if it ends without
    /// [`Request::Unlock`]: by the descriptors that come with this.
    Bind,
    /// The work is done, or no longer wanted.
    Unlock,
    /// The token is to go to another member now.
    Yield {
        /// To which, by its MAC or ip; without it to the next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// Take part, but own nothing: maintenance.
    Pause(PauseRequest),
    /// The end of [`Request::Pause`].
    Resume,
    /// A member that is silent, or has left, is to leave all tables.
    Forget {
        /// Its address.
        member: String,
    },
    /// The token's data, as far as it is known here.
    DataGet,
    /// Changes the token's data.
    DataSet {
        /// Up to 1,024 bytes, in hexadecimal digits.
        hex: String,
        /// The fencing token of the lock under which this is done; not needed by the connection
        /// that has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// All that happens from now on.
    Watch {
        /// From the event of this number on, if it is still known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// With the turns of a token that goes its way round the ring.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        turns: bool,
    },
}

impl Request {
    /// Whether it is carried out only for a client that is there for the answer. One that has given up
    /// has been told that nothing came of it.
    #[must_use]
    pub const fn needs_its_client(&self) -> bool {
        match self {
            Self::Lock(_)
            | Self::Once(_)
            | Self::Yield { .. }
            | Self::Pause(_)
            | Self::Resume
            | Self::Forget { .. }
            | Self::DataSet { .. } => true,
            Self::Version
            | Self::Status
            | Self::Ran { .. }
            | Self::NotRun
            | Self::Bind
            | Self::Unlock
            | Self::DataGet
            | Self::Watch { .. } => false,
        }
    }
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// How a lock is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRequest {
    /// What for, as others see it: at most [`MAX_LABEL`] bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// How long it is waited for, in milliseconds; without it for ever. 0: only if nobody works
    /// with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// For how long it is held at the most, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hold_ms: Option<u64>,
    /// How safe it is to be, as long as it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Grade>,
    /// The fencing token of the lock under which the client runs itself. It would wait for that without
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// A job that is to run once in a period, and how its lock is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnceRequest {
    /// The job: 1 to 32 printable ASCII characters without blanks.
    pub name: String,
    /// The period: no run within this time after the last one began, in milliseconds.
    pub every_ms: u64,
    /// A run that has failed or was lost does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// How the lock is wanted.
    #[serde(flatten)]
    pub lock: LockRequest,
}

/// How a pause is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseRequest {
    /// Who holds the token here ends its work in its own time, and is not told to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
    /// It lasts beyond the daemon's end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persist: bool,
    /// How long the answer may wait for its being complete, in milliseconds; without it not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The fencing token of the lock under which the client runs itself, if it would wait for the end of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// How safe a lock is (`docs/guarantees.md`), from the least to the most.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Nobody is known to have confirmed it.
    Alone,
    /// All members that were heard lately have confirmed it.
    View,
    /// A majority of the ring has.
    Quorum,
}

/// A reply: `{"status":{…}}` or `{"error":"…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// To [`Request::Version`].
    Version(Version),
    /// To [`Request::Status`].
    Status(NodeStatus),
    /// To [`Request::Lock`]: here it is.
    Granted(Grant),
    /// To [`Request::Lock`]: not to be had.
    Refused(Refusal),
    /// Unasked: the lock is safe for longer.
    Renewed(Renewal),
    /// Unasked: the lock is over.
    Lost(Loss),
    /// To [`Request::Unlock`].
    Unlocked {},
    /// It is carried out.
    Done {},
    /// To [`Request::Pause`]: the node is to own nothing, but still does.
    Pending(Pending),
    /// To [`Request::DataGet`].
    Data(TokenData),
    /// The first answer to [`Request::Watch`].
    Snapshot(Box<Snapshot>),
    /// Unasked, after [`Request::Watch`].
    Event(Box<EventMessage>),
    /// The request was not understood, or not carried out: why, as a sentence.
    Error(String),
}

/// What is spoken, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The daemon's version.
    pub ringd: String,
    /// Its interface.
    pub interface: String,
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The token.
    pub token: TokenStatus,
    /// The same as a fencing token: progress-author-number.
    pub fencing: String,
    /// How safe it is: `alone`, `view` or `quorum`.
    pub grade: String,
    /// The token's data, in hexadecimal digits.
    pub data: String,
    /// Nobody else is granted the token before this time of CLOCK_BOOTTIME, in nanoseconds.
    pub until_ns: u64,
}

/// Why there is no lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For programs.
    pub why: RefusalReason,
    /// For people, as a sentence.
    pub text: String,
    /// With [`RefusalReason::Ran`]: that run was lost, and nobody knows how far it came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// Why a lock was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalReason {
    /// It was waited for as long as was asked.
    Timeout,
    /// A client of this machine has it, and it was not to be waited for.
    Busy,
    /// The token came, but was not as safe as required for as long as was waited.
    Grade,
    /// The node is paused, and it was not to be waited for.
    Paused,
    /// The job has run in its period, or runs.
    Ran,
    /// No more jobs can be remembered until the period of one is over.
    Names,
    /// This interface's frames are too short to tell the members of a job.
    Mtu,
    /// Too many clients wait already.
    Crowded,
    /// The client runs under the lock that it asks for.
    Nested,
    /// The daemon shuts down.
    Leaving,
}

impl RefusalReason {
    /// All there are.
    pub const ALL: [Self; 10] = [
        Self::Timeout,
        Self::Nested,
        Self::Busy,
        Self::Grade,
        Self::Paused,
        Self::Ran,
        Self::Names,
        Self::Mtu,
        Self::Crowded,
        Self::Leaving,
    ];

    /// As programs are told it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Busy => "busy",
            Self::Grade => "grade",
            Self::Paused => "paused",
            Self::Ran => "ran",
            Self::Names => "names",
            Self::Mtu => "mtu",
            Self::Crowded => "crowded",
            Self::Nested => "nested",
            Self::Leaving => "leaving",
        }
    }
}

/// A lock is safe for longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// As in [`Grant::until_ns`].
    pub until_ns: u64,
}

/// The end of a lock that was not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// For programs.
    pub why: LossReason,
    /// For people, as a sentence.
    pub text: String,
    /// By when the work must have ended, as a time of CLOCK_BOOTTIME in nanoseconds; it may be
    /// past.
    pub until_ns: u64,
}

/// Why a node that is to own nothing still owns the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// For programs.
    pub why: PendingReason,
    /// For people, as a sentence.
    pub text: String,
}

/// What a pause waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PendingReason {
    /// The end of a client's work.
    Holder,
    /// Another member that takes the token.
    Token,
}

impl PendingReason {
    /// What a person is told.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Holder => "a program of this machine still works under the token",
            Self::Token => {
                "no other member has taken the token, which stays here unused until one does"
            }
        }
    }

    /// As programs are told it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holder => "holder",
            Self::Token => "token",
        }
    }
}

/// Why a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossReason {
    /// Somebody has asked this node to hand the token over.
    Yield,
    /// It was held for as long as it was to be.
    MaxHold,
    /// The daemon shuts down.
    Shutdown,
    /// Another node has a stronger token.
    StrongerToken,
    /// No heartbeat could be sent for so long that others may have elected another owner.
    Lease,
    /// What must survive a restart could not be stored.
    NotStored,
    /// No other member takes the token from this node, which has let go of it.
    NobodyTakes,
    /// The interface's link is down.
    Link,
    /// It is no longer as safe as was required.
    Grade,
    /// The node was paused.
    Paused,
    /// The client is gone, and has not given it back. Nobody is left who could be told.
    Gone,
}

impl LossReason {
    /// All there are.
    pub const ALL: [Self; 11] = [
        Self::Yield,
        Self::MaxHold,
        Self::Shutdown,
        Self::StrongerToken,
        Self::Lease,
        Self::NotStored,
        Self::NobodyTakes,
        Self::Link,
        Self::Grade,
        Self::Paused,
        Self::Gone,
    ];

    /// As programs are told it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yield => "yield",
            Self::MaxHold => "max_hold",
            Self::Shutdown => "shutdown",
            Self::StrongerToken => "stronger_token",
            Self::Lease => "lease",
            Self::NotStored => "not_stored",
            Self::NobodyTakes => "nobody_takes",
            Self::Link => "link",
            Self::Grade => "grade",
            Self::Paused => "paused",
            Self::Gone => "gone",
        }
    }
}

/// The token's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenData {
    /// In hexadecimal digits.
    pub hex: String,
    /// The token that it belongs to.
    pub token: Option<TokenStatus>,
}

/// Everything as it is after the event of a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the last event before it.
    pub number: u64,
    /// The state of things.
    pub status: Status,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMessage {
    /// Grows by one from event to event, turns of the token included.
    pub number: u64,
    /// When: milliseconds since 1970.
    pub time_ms: u64,
    /// What: `state_changed`, `grade_changed`, `owner_changed`, `member_added`, `member_left`,
    /// `member_forgotten`, `lock_granted`, ….
    pub event: String,
    /// The state before, of `state_changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The state since.
    pub state: String,
    /// Why, of `state_changed` and the end of a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The token held, or else the strongest known.
    pub token: Option<TokenStatus>,
    /// Who holds it as far as is known.
    pub owner: Option<String>,
    /// How safe a lock is now.
    pub grade: String,
    /// The member that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// To how many other members the same has happened, of `member_silent` and `member_alive`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: usize,
    /// The client whose lock it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}
