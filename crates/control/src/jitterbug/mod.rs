//! The messages of Jitterbug: requests, reasons and a node's status.

mod lock;
mod request;
mod status;

pub use lock::{LossReason, RefusalReason};
pub use request::JitterbugRequest;
pub use status::{CountersStatus, EntryStatus, NodeEntry, Penalty, Status};

/// The value of `protocol` in the status of a Jitterbug node.
pub const SYSTEM: &str = "jitterbug";

/// The state of a node that holds the token.
pub const LEADER: &str = "leader";
/// The state of a node that waits for the token.
pub const WAITER: &str = "waiter";
/// The state of a node outside of a ring.
pub const ORPHAN: &str = "orphan";

/// A request for a lock. The required grade is a text. So a node can parse a request with any grade, and then refuse
/// it.
pub type LockRequest = super::LockRequest<String>;
