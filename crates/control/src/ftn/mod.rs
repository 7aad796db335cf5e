//! The messages of the token service: the status of a server, and the warning about a quorum that is too small.

mod cut;
mod status;

pub use cut::split_warning;
pub use status::{SYSTEM, ServerStatus, SessionStatus, Status};
