//! What only a node of a Lab2 ring is asked.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Grade, LockRequest};
use crate::OwnRequest;

/// A request to a node of a ring: `{"request":"resume"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum RingRequest {
    /// The token, to run a job that has not run in its period.
    Once(OnceRequest),
    /// The job that this connection was granted the token for has ended.
    Ran {
        /// Whether it has succeeded.
        done: bool,
    },
    /// The job that this connection was granted the token for was not begun, and never will be.
    NotRun,
    /// The token is to go to another member now.
    Yield {
        /// To which, by its MAC or ip; without it to the next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// Take part, but own nothing: maintenance.
    Pause(PauseRequest),
    /// The end of [`RingRequest::Pause`].
    Resume,
    /// A member that is silent, or has left, is to leave all tables.
    Forget {
        /// Its address.
        member: String,
    },
}

impl OwnRequest for RingRequest {
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

/// What a pause waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PendingReason {
    /// The end of a client's work.
    Holder,
    /// Another member that takes the token.
    Token,
}

impl PendingReason {
    /// As programs are told it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What a person is told.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Holder => "a program of this machine still works under the token",
            Self::Token => {
                "no other member has taken the token, which stays here unused until one does"
            }
        }
    }
}
