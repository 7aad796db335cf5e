//! The Lab2 machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`).

mod constants;
mod event;

pub use constants::Constants;
pub use event::{DropReason, Durable, Event, Reason, State};
