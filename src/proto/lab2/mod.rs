//! The Lab2 machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`).

mod command;
mod constants;
mod crowd;
mod event;
mod grade;
mod input;
mod known;
mod link;
mod looser;
mod machine;
mod membership;
mod outbox;
mod owner;
mod passing;
mod pause;
mod peer;
mod profile;
mod promise;
mod role;
mod snapshot;
mod sweep;
mod table;
mod timer;
mod tokens;
mod view;
mod waiter;
mod wanting;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use constants::{ConstantError, Constants};
pub use event::{DropReason, Durable, Event, Grade, Reason, State};
pub use grade::Votes;
pub use machine::Lab2;
pub use view::MemberView;
