//! The Lab2 state machine with the states OWNER, WAITER, LOOSER and GENERATING (`docs/reference/lab2/README.md`). The
//! state machine does no input or output. Start with `machine`.
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the state machine: owns the parts below, passes inputs to them and applies the consequences |
//! | `tenure` | the four states, an OWNER's data, and the reasons why a node must not own the token |
//! | `election` | the strongest known token, its rivals, and a LOOSER's search for the token |
//! | `members` | the member table, profiles, silent members, and the choice of the successor |
//! | `confidence` | grades: the promises of members to this node, and its own promises to others |
//! | `jobs` | the state machine of jobs that run once in a period |
//! | `locks` | the state machine of named locks |
//! | `diagnostics` | reports for people, on which no rule depends |
//! | `survey` | reports and measurements of all members, on which no other part depends |
//!
//! No part uses another part's fields. The files next to the folders define types that all parts share.

mod command;
mod confidence;
mod constants;
mod diagnostics;
mod election;
mod envelope;
mod event;
mod host_name;
mod inspect;
mod jobs;
mod last_frames;
mod locks;
mod machine;
mod members;
mod pause;
mod short_text;
mod survey;
mod tenure;
mod work;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use confidence::Votes;
pub use constants::{
    Adjustment, ConstantError, Constants, FOREVER, HEARTBEAT_MIN, PERIOD_MAX, TAKE_TIMEOUT_MIN,
};
pub use diagnostics::silent_members::SilentMembers;
pub use event::{
    DataLimit, Diagnostic, Difference, DropReason, Event, Grade, MemberOptions, Reason, State,
    StoredState,
};
pub use host_name::HostName;
pub use inspect::Inspect;
pub use jobs::job::{
    JobName, OnceProgress, OnceRequest, RunEnd, RunView, STAMPS_MAX, Stamp, StoredStamp,
};
pub use last_frames::{LastFrames, LastOffer};
pub use locks::lock::{LockName, LockProgram, LockRequest, LockView};
pub use machine::Lab2;
pub use machine::view::{MemberView, Presence};
pub use pause::{Pause, PauseReason};
pub use survey::data::{
    HostReport, MemberMeasures, NodeHealth, ReceivedReport, ReportData, SurveyRequest,
    SurveyResult, SurveyedNode,
};
pub use survey::survey_time_max;
pub use work::HolderProgram;
