//! Any system as a daemon: the one loop, and what it wires together. No protocol decisions.

mod backstop;
mod clock_rate;
mod complaints;
mod connection;
mod cycle;
mod descriptors;
mod endpoint;
mod errand;
mod error;
mod history;
pub mod hooks;
mod jobs;
mod lease_clock;
mod lock_log;
mod lock_queue;
mod loop_health;
mod machine_names;
mod node_health;
mod notify;
mod onlookers;
mod prelude;
mod reaction;
mod recent;
mod run;
mod send_failures;
mod server;
mod signals;
mod system;
mod two_slots;
mod udp_slot;
mod waiting;
mod watchers;
mod who;
mod work_budget;
pub mod worker;

pub use backstop::Backstops;
use clock_rate::ClockRate;
pub(crate) use complaints::Complaints;
pub(crate) use errand::Errand;
pub use error::{Error, SystemError};
pub use history::{Entry, History};
pub use jobs::{NoTask, Task};
pub use lease_clock::lease_clock;
pub(crate) use lock_log::{HeldLock, LockLog};
pub use lock_queue::{Holder, LockQueue, MAX_WAITING, NOTICE, NotQueued, Waiter};
pub(crate) use machine_names::note_addresses;
pub use node_health::NodeHealth;
pub use onlookers::Onlookers;
pub use prelude::Prelude;
pub use reaction::Reaction;
pub use recent::{Priority, REMEMBERED, Recent};
pub use run::Host;
pub use send_failures::SendFailures;
pub use server::Server;
pub use system::{Answer, LateLimits, ShutDown, System};
pub use two_slots::{Contents, TwoSlots, array_at, u64_at};
pub(crate) use udp_slot::REBIND_PAUSE;
pub use udp_slot::{Drops, UdpSlot};
pub use waiting::{LINK, NETWORK, SYSTEM, Waiting};
pub(crate) use watchers::Watchers;
pub use who::{Client, ClientId};
pub use work_budget::WorkBudget;

use std::fmt;

use clap::ValueEnum;

/// The name of the program that the host runs in, as its operator and its clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program(pub &'static str);

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How log lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A sentence a line, for people.
    Text,
    /// A JSON object a line, for machines.
    Json,
}
