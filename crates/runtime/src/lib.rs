//! Runs the state machines of `ring-proto` on a Linux machine: the pump that drives one, its links and connections, the
//! one wait for all of them, and the time.
//!
//! Nothing here knows a word of any protocol. `unsafe` is denied; each file that needs it says so at its head.

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

pub use cycle::Cycle;
pub use errand::{Errand, Step};
pub use random::random;
