//! Requests and replies between `ringd` and `ringctl`, and their framing.
//!
//! The client sends a [`Request`] as one line of JSON, at most [`MAX_REQUEST`] bytes, and gets a
//! [`Reply`] as one line of JSON; then it may send the next.

mod framing;
pub(crate) mod hex;
mod message;
mod name;
mod status;
mod summary;
mod text;

pub use framing::{FramingError, LineBuffer, MAX_REQUEST, to_line};
pub use message::{
    EventMessage, Grade, Grant, LockRequest, Loss, LossReason, MAX_LABEL, OnceRequest, PROTOCOL,
    PauseRequest, Pending, PendingReason, Refusal, RefusalReason, Renewal, Reply, Request,
    Snapshot, TokenData, Version,
};
pub use name::{RingName, parse_ethertype};
pub use status::{
    ClientStatus, ConstantsStatus, Counters, HandOverLatency, LockTotals, MemberStatus, RunStatus,
    Status, TokenStatus,
};
pub use summary::{NodeStatus, Summary};
pub use text::harmless;

/// Where `ringd` makes its control socket if it is not told otherwise, by the [`RingName`].
pub const CONTROL_DIR: &str = "/run/ringd";
