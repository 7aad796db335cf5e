//! Waiting for many things at once, and for time to pass.

mod alarm;
mod poller;
mod waiting;

pub use alarm::Alarm;
pub use poller::{Interest, Poller, Ready};
pub use waiting::{Failure, LINK, ReadyKeys, Waiting};
