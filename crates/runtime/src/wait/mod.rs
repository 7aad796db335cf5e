//! Waiting for many things at once, and for time to pass.

mod alarm;
mod poller;

pub use alarm::Alarm;
pub use poller::{Interest, Poller, Ready};
