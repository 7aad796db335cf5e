//! What is particular to the token service: the status of a server, and what its quorum means.

mod cut;
mod status;

pub use cut::cut_doubt;
pub use status::{SYSTEM, ServerStatus, SessionStatus, Status};
