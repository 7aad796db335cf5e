//! The requests that are specific to a node of a Lab2 ring.

use serde::{Deserialize, Serialize};
use strum::{EnumIter, IntoStaticStr};

use super::{Grade, LockRequest, MeasureRequest, NamedLockRequest};
use crate::{Right, SystemRequest};

/// A request to a node of a ring: `{"request":"resume"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, EnumIter)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum RingRequest {
    /// Requests a named lock for this connection. The connection keeps the lock until `unlock`, or until the connection
    /// ends.
    NamedLock(NamedLockRequest),
    /// Asks for all named locks of the ring.
    Locks,
    /// Asks all members of the ring for a report.
    Survey,
    /// Asks the members of the ring to measure the connections between each other, and to report the results.
    Measure(MeasureRequest),
    /// Requests the token for a job, if the job has not yet run in the current period.
    Once(OnceRequest),
    /// Reports that the job has ended. The client must send this request on the connection that holds the lock for the
    /// job.
    Ran {
        /// Whether the job succeeded.
        done: bool,
    },
    /// Reports that the job has not begun. The client will not start it under the lock of this connection.
    NotRun,
    /// Hands the token over to another member at once.
    Yield {
        /// The MAC or IP address of the next owner. If the address is absent, the next member of the ring gets the
        /// token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// Pauses the node: it still takes part in the ring, but does not own the token.
    Pause(PauseRequest),
    /// Ends a pause.
    Resume,
    /// Removes a silent member, or a member that has left, from all tables.
    Forget {
        /// The member's address.
        member: String,
    },
    /// Writes the last frames and events of the node to a file of the daemon.
    Dump,
}

impl SystemRequest for RingRequest {
    type Require = Grade;

    fn needs_its_client(&self) -> bool {
        match self {
            Self::NamedLock(_)
            | Self::Once(_)
            | Self::Yield { .. }
            | Self::Pause(_)
            | Self::Resume
            | Self::Forget { .. }
            | Self::Measure(_)
            | Self::Dump => true,
            Self::Locks | Self::Survey | Self::Ran { .. } | Self::NotRun => false,
        }
    }

    fn right(&self) -> Right {
        match self {
            Self::Locks | Self::Survey => Right::Read,
            // A measurement needs the greater right, because it loads the network segment.
            Self::Measure(_)
            | Self::NamedLock(_)
            | Self::Once(_)
            | Self::Ran { .. }
            | Self::NotRun
            | Self::Yield { .. }
            | Self::Pause(_)
            | Self::Resume
            | Self::Forget { .. }
            | Self::Dump => Right::Act,
        }
    }
}

/// A request for the lock of a job that runs once in a period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnceRequest {
    /// The job's name: 1 to 32 printable ASCII characters without blanks.
    pub name: String,
    /// The period in milliseconds. The starts of two runs have at least this distance.
    pub every_ms: u64,
    /// Whether the job may run again in the same period after a run that failed or was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// The request for the lock.
    #[serde(flatten)]
    pub lock: LockRequest,
}

/// A request for a pause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseRequest {
    /// Whether the pause waits until the current holder of the lock has finished its work. If `false`, the holder loses
    /// the lock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
    /// Whether the pause survives a restart of the daemon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persist: bool,
    /// The end of the pause by the machine's clock, in milliseconds since 1970. If this key is absent, the pause does
    /// not end by itself. A pause with an end also survives a restart of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// The reason of the pause, for people: at most 64 bytes without control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Maximum time, in milliseconds, for which the daemon delays its answer until the pause is complete. If this key
    /// is absent, the daemon answers at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The fencing token of the lock under which the client works. The daemon needs it, because otherwise this client
    /// could wait for the end of its own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

impl PauseRequest {
    /// Whether the request contains an end or a reason of the pause.
    pub const fn has_terms(&self) -> bool {
        self.until_ms.is_some() || self.reason.is_some()
    }
}

/// The reason why a pause is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PendingReason {
    /// A program still uses the token.
    Holder,
    /// No other member has taken the token.
    Token,
}

impl PendingReason {
    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the text that a person reads.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Holder => "a program of this machine still uses the token or a named lock",
            Self::Token => "no other member has taken the token, so this node keeps it unused",
        }
    }
}
