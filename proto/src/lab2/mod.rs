//! The Lab2 state machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`). It does no input or output. Start
//! with `machine`.
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the state machine: it owns the parts below, passes them the inputs and applies the consequences |
//! | `tenure` | the four states, an OWNER's data, and the reasons for which a node must not own |
//! | `election` | the strongest known token, its rivals, and the search of a LOOSER |
//! | `members` | the table, profiles, silence, and the choice of the successor |
//! | `confidence` | grades: promises to this node, and its own to others |
//! | `jobs` | the state machine of jobs that run once in a period |
//! | `diagnostics` | reports for people; no rule reads them |
//!
//! No part uses another part's fields. The files next to the folders define types that all parts share.

mod command;
mod confidence;
mod constants;
mod diagnostics;
mod election;
mod envelope;
mod event;
mod inspect;
mod jobs;
mod machine;
mod members;
mod tenure;
mod work;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use confidence::Votes;
pub use constants::{
    ConstantError, Constants, FOREVER, HEARTBEAT_MIN, PERIOD_MAX, TAKE_TIMEOUT_MIN,
};
pub use diagnostics::silent_members::SilentMembers;
pub use event::{
    DataLimit, Diagnostic, Difference, DropReason, Event, Grade, MemberOptions, Reason, State,
    StoredState,
};
pub use inspect::Inspect;
pub use jobs::job::{
    JobName, OnceProgress, OnceRequest, RunEnd, RunView, STAMPS_MAX, Stamp, StoredStamp,
};
pub use machine::Lab2;
pub use machine::view::{MemberView, Presence};
pub use work::HolderProgram;
