//! What is particular to the token service: the status of a server.

mod status;

pub use status::{SYSTEM, ServerStatus, SessionStatus, Status};
