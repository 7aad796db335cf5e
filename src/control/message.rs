//! What is asked over the control socket, and what is answered.

use serde::{Deserialize, Serialize};

use super::Status;

/// A request: `{"request":"status"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// How the daemon sees its ring.
    Status,
}

/// A reply: `{"status":{…}}` or `{"error":"…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// To [`Request::Status`].
    Status(Box<Status>),
    /// The request was not understood, or not carried out: why, as a sentence.
    Error(String),
}
