//! What is particular to Lab2: requests to a node of a ring, grades and reasons, its status and its events.

mod event;
mod lock;
mod name;
mod request;
mod status;

pub use event::RingEvent;
pub use lock::{Grade, LossReason, RefusalReason};
pub use name::{parse_ethertype, parse_ring_name, ring_name};
pub use request::{OnceRequest, PauseRequest, PendingReason, RingRequest};
pub use status::{
    ClientStatus, ConstantsStatus, Counters, HolderStatus, LockTotals, MemberStatus, QuorumStatus,
    RunStatus, Status, TokenStatus,
};

/// How a lock of a ring is wanted.
pub type LockRequest = super::LockRequest<Grade>;
