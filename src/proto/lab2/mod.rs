//! The Lab2 machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`).

mod command;
mod constants;
mod event;
mod machine;

pub use command::Command;
pub use constants::{ConstantError, Constants};
pub use event::{DropReason, Durable, Event, Reason, State};
pub use machine::{Lab2, MemberView};
