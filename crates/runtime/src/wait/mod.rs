//! Waits for descriptors and deadlines. Start with [`Reactor`].

mod alarm;
mod poller;
mod waiting;

pub use alarm::Alarm;
pub use poller::{Interest, Poller, ReadyDescriptor};
pub use waiting::{LINK, Reactor, ReadyKeys, SystemCallError};
