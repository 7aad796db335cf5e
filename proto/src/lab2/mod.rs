//! The Lab2 machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`).
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the machine: it owns the parts below, tells each what happens, and does what follows; time, constants, interface; frames and timers |
//! | `tenure` | the four states, what an OWNER remembers of its token, and for which reasons a node owns none |
//! | `election` | the strongest token known, tokens beside it, and how a LOOSER looks for one |
//! | `members` | the table: who is there, what they say of themselves, and whose turn it is |
//! | `confidence` | how safe a tenure is: promises to this node, and its own to others |
//! | `jobs` | jobs that run once in a period, as a machine of its own |
//! | `diagnostics` | what people are told; it decides nothing |
//!
//! No part uses another part. The files next to the folders define types that all parts share: constants, commands, events.

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
