//! The Lab2 machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`).

mod command;
mod confidence;
mod constants;
mod diagnostics;
mod election;
mod envelope;
mod event;
mod jobs;
mod machine;
mod members;
mod subject;
mod tenure;
mod work;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use confidence::Votes;
pub use constants::{
    ConstantError, Constants, FOREVER, LONGEST_PERIOD, SHORTEST_HEARTBEAT, SHORTEST_TAKE_TIMEOUT,
};
pub use diagnostics::silent_members::SilentMembers;
pub use event::{
    DataLimit, Difference, DropReason, Durable, Event, Grade, Reason, State, Terms, Trouble,
};
pub use jobs::job::{
    JobName, MAX_STAMPS, OnceRequest, OnceStanding, RunEnd, RunView, Stamp, StoredStamp,
};
pub use machine::Lab2;
pub use machine::view::{MemberView, Presence};
pub use subject::Subject;
pub use work::Work;
