//! Requests and replies between `ringd` and `ringctl`, and their framing.

mod status;

pub use status::{ConstantsStatus, Counters, HandOverLatency, MemberStatus, Status, TokenStatus};
