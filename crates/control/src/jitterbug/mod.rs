//! What a node of a Jitterbug ring is asked, and what it shows.

mod lock;
mod request;
mod status;

pub use lock::{LossReason, RefusalReason};
pub use request::JitterbugRequest;
pub use status::{CountersStatus, EntryStatus, NodeEntry, Penalty, Status};

/// What `protocol` is in the status of such a node.
pub const SYSTEM: &str = "jitterbug";

/// A node's state while it holds the token.
pub const LEADER: &str = "leader";
/// A node's state while it waits for the token.
pub const WAITER: &str = "waiter";
/// A node's state while it has no ring.
pub const ORPHAN: &str = "orphan";

/// A request for a lock. A grade that it requires is kept as it came, to be refused.
pub type LockRequest = super::LockRequest<String>;
