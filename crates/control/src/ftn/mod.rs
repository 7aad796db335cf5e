//! The messages of the token service: a server's status, and the warning about its quorum.

mod cut;
mod status;

pub use cut::split_warning;
pub use status::{SYSTEM, ServerStatus, SessionStatus, Status};
