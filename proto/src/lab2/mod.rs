//! The Lab2 machine: OWNER, WAITER, LOOSER, GENERATING (`docs/protocol.md`).

mod apart;
mod backing;
mod cards;
mod clock;
mod command;
mod constants;
mod crowd;
mod data;
mod event;
mod grade;
mod hearing;
mod input;
mod job;
mod judged;
mod known;
mod link;
mod looser;
mod machine;
mod membership;
mod missing;
mod once;
mod outbox;
mod output;
mod owner;
mod passing;
mod pause;
mod peer;
mod profile;
mod promise;
mod reach;
mod removed;
mod rivals;
mod role;
mod shared;
mod shutdown;
mod silence;
mod silent_members;
mod snapshot;
mod stamps;
mod storage;
mod subject;
mod support;
mod sweep;
mod table;
mod telling;
mod timer;
mod tokens;
mod trouble;
mod turns;
mod unheard;
mod unsure;
mod view;
mod waiter;
mod wanting;
mod work;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use constants::{
    ConstantError, Constants, FOREVER, LONGEST_PERIOD, SHORTEST_HEARTBEAT, SHORTEST_TAKE_TIMEOUT,
};
pub use event::{
    DataLimit, Difference, DropReason, Durable, Event, Grade, Reason, State, Terms, Trouble,
};
pub use grade::Votes;
pub use job::{
    JobName, MAX_STAMPS, OnceRequest, OnceStanding, RunEnd, RunView, Stamp, StoredStamp,
};
pub use machine::Lab2;
pub use silent_members::SilentMembers;
pub use subject::Subject;
pub use view::{MemberView, Presence};
pub use work::Work;
