//! Any system as a daemon: the one loop, and what it wires together. No protocol decisions.

mod backstop;
mod bytes;
mod connection;
mod descriptors;
mod duration;
mod endpoint;
mod error;
pub mod hooks;
mod housekeeping;
mod jobs;
mod notify;
mod pace;

mod recent;
mod run;
mod server;
mod share;
mod signals;
mod system;
mod two_slots;
mod waiting;
mod watchers;
mod who;
pub mod worker;

pub use backstop::Backstops;
pub(crate) use bytes::spoken_bytes;
pub(crate) use duration::{parse_duration, spoken};
pub use error::Error;
pub use jobs::{NoTask, Task};
pub use pace::Pace;
pub use recent::{Kind, REMEMBERED, Recent};
pub use run::Host;
pub use server::Server;
pub use share::Share;
pub use system::{Answer, Patience, ShutDown, System};
pub use two_slots::{Contents, TwoSlots, array_at, u64_at};
pub use waiting::{LINK, NETWORK, Waiting};
pub use watchers::Watchers;
pub use who::{Client, ClientId};

use clap::ValueEnum;

/// How log lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A sentence a line, for people.
    Text,
    /// A JSON object a line, for machines.
    Json,
}
