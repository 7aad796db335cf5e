//! What people are told. It decides nothing.

mod status;
mod strangers;

pub use status::{ElectionStatus, Snapshot, Standing, TokenStatus};
pub(crate) use strangers::Strangers;
