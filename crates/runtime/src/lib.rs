//! Runs the state machines of `ring-proto` on Linux: the driver, its links and connections, the one wait for all of
//! them, and the clocks.
//!
//! It contains no protocol. `unsafe` is denied; each file that needs it gives the reason at its head. Start with
//! [`driver`].

#![deny(unsafe_code)]

pub mod clock;
mod cycle;
pub mod driver;
mod errand;
pub mod net;
pub mod nice;
mod random;
pub mod wait;
pub mod worker;

pub use cycle::EventLoop;
pub use errand::{MachineRunner, StepResult};
pub use random::random;
