//! Runs the state machines of `ring-proto` on Linux. The crate has the driver, its links and connections, a single wait
//! for all of them, and the clocks.
//!
//! The crate contains no protocol. The crate denies `unsafe`, but some files allow it, and give the reason at their
//! head. Start with [`driver`].

#![deny(unsafe_code)]

mod busy_poll;
pub mod clock;
mod cycle;
pub mod driver;
mod errand;
mod memory_file;
pub mod net;
pub mod nice;
mod random;
pub mod wait;
pub mod worker;

pub use busy_poll::{BusyPoll, BusyPollWork};
pub use cycle::EventLoop;
pub use errand::{MachineRunner, StepResult};
pub use memory_file::MemoryFile;
pub use random::{random, random_bytes};
