//! The requests that are specific to a node of a Lab2 ring.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Grade, LockRequest};
use crate::SystemRequest;

/// A request to a node of a ring: `{"request":"resume"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum RingRequest {
    /// Requests the token for a job that has not run in its period.
    Once(OnceRequest),
    /// Reports that the job of this connection's lock has ended.
    Ran {
        /// Whether the job has succeeded.
        done: bool,
    },
    /// Reports that the job of this connection's lock was not begun, and never will be.
    NotRun,
    /// Hands the token over to another member at once.
    Yield {
        /// The member's MAC or IP address; the next member if it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// Pauses the node: it takes part but does not own the token.
    Pause(PauseRequest),
    /// Ends a pause.
    Resume,
    /// Removes a silent member, or one that has left, from all tables.
    Forget {
        /// The member's address.
        member: String,
    },
}

impl SystemRequest for RingRequest {
    type Require = Grade;

    fn needs_its_client(&self) -> bool {
        match self {
            Self::Once(_)
            | Self::Yield { .. }
            | Self::Pause(_)
            | Self::Resume
            | Self::Forget { .. } => true,
            Self::Ran { .. } | Self::NotRun => false,
        }
    }
}

/// A request for the lock of a job that runs once in a period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnceRequest {
    /// The job's name: 1 to 32 printable ASCII characters without blanks.
    pub name: String,
    /// The period in milliseconds: no run begins within this time after the last run began.
    pub every_ms: u64,
    /// Whether a run that has failed or was lost does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// The request for the lock.
    #[serde(flatten)]
    pub lock: LockRequest,
}

/// A request for a pause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseRequest {
    /// Whether the holder may end its work by itself. Otherwise it loses the lock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
    /// Whether the pause survives a restart of the daemon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persist: bool,
    /// Maximum time in milliseconds that the answer may wait until the pause is complete; 0 if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The fencing token of the lock under which the client runs, if the client would wait for its own end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// The condition that a pause waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PendingReason {
    /// A client still uses the token.
    Holder,
    /// No other member has taken the token.
    Token,
}

impl PendingReason {
    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the text for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Holder => "a program of this machine still uses the token",
            Self::Token => "no other member has taken the token, so this node keeps it unused",
        }
    }
}
