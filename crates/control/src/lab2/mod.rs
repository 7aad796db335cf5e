//! The messages of Lab2: requests, grades, reasons, and the status and events of a node.

mod event;
mod lock;
mod named_lock;
mod request;
mod ring_name;
mod status;
mod survey;

pub use event::RingEvent;
pub use lock::{Grade, LossReason, RefusalReason};
pub use named_lock::{LockMode, NamedLockRequest, NamedLockStatus};
pub use request::{OnceRequest, PauseRequest, PendingReason, RingRequest};
pub use ring_name::{parse_ethertype, parse_ring_name, ring_name, split_ring_name};
pub use status::{
    BusyPollCounters, ClientStatus, ConstantsStatus, Counters, HolderStatus, LockTotals,
    MemberStatus, PauseStatus, QuorumStatus, RunStatus, Status, TokenStatus,
};
pub use survey::{
    MeasureRequest, MemberMeasurement, MemberReport, PairMeasurement, PairReceiver, PairSender,
    RoundTrip, SurveyReport, SurveyedMember,
};

/// A request for a ring's lock.
pub type LockRequest = super::LockRequest<Grade>;
