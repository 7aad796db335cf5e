//! Runs any system as a daemon. The crate has the loop, signals, the control socket, hooks, jobs and the log.
//!
//! The crate makes no decisions of a protocol. Start with [`System`] and `run.rs`.

#![forbid(unsafe_code)]

mod clock_rate;
mod connection;
mod descriptor_budget;
mod endpoint;
mod error;
mod group_access;
mod history;
pub mod hooks;
mod jobs;
mod keys;
mod last_failure;
mod lease_clock;
mod lock_log;
mod lock_queue;
mod loop_health;
mod machine_names;
mod node_health;
mod notify;
pub mod observe;
mod onlookers;
pub mod program;
mod reaction;
mod recent;
mod reload;
mod run;
mod send_failures;
mod server;
mod signals;
mod start_delay;
mod system;
pub mod troubles;
pub mod trust;
mod two_slots;
mod udp_slot;
mod watchers;
mod work_budget;

use clock_rate::ClockRate;
pub use error::{Error, SystemError};
pub use history::{History, HistoryEntry};
pub use jobs::{Jobs, NoTask, Task};
pub use keys::{NETWORK, SYSTEM};
pub use last_failure::LastFailure;
pub use lease_clock::lease_clock;
pub use lock_log::{HeldLock, LockLog};
pub use lock_queue::{ENDING_NOTICE, Holder, LockQueue, NotQueued, WAITING_CLIENTS_MAX, Waiter};
pub use machine_names::{KnownMachine, announced_host_name, note_host_name, note_machines};
pub use node_health::NodeHealth;
pub use onlookers::Onlookers;
pub use reaction::Reaction;
pub use recent::{Priority, RETAINED_EVENTS_MAX, Recent};
pub use reload::{readable_directories, reload};
pub use run::Host;
pub use send_failures::SendFailures;
pub use server::Server;
pub use start_delay::StartDelay;
pub use system::{Answer, LateLimits, Reload, ShutDown, System};
pub use two_slots::{Contents, TwoSlots, array_at, u64_at};
pub use udp_slot::REBIND_PAUSE;
pub use udp_slot::{DatagramDrops, UdpSlot};
pub use watchers::Watchers;
pub use work_budget::WorkBudget;

use std::fmt;

use clap::ValueEnum;

/// The name of the program that contains the host, for operators and clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program(pub &'static str);

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One sentence per line, for people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}
