//! The messages between a keeper and its parent.

use std::path::PathBuf;

use ring_control::{Grant, RawJson, Refusal};
use serde::{Deserialize, Serialize};

use super::Granter;
use ring_client::lease::Margins;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub granter: Granter,
    pub request: RawJson,
    /// Maximum time to wait for the lock, in milliseconds; `None` means no limit.
    pub wait_ms: Option<u64>,
    /// The reports that the keeper sends to the daemon about a job. `None` if the lock is not for a job.
    pub reports: Option<JobReports>,
    pub margins: Margins,
    /// Maximum time between SIGTERM and SIGKILL, in milliseconds.
    pub grace_ms: u64,
    pub binding: Binding,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobReports {
    pub not_begun: RawJson,
    pub done: RawJson,
    pub failed: RawJson,
}

/// The command or the process that a lock is bound to. When it ends, the lock ends too.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Binding {
    /// A command that the keeper's parent started, and the parent itself.
    Command,
    /// The units of a systemd slice, a process that starts and stops these units, and the parent itself.
    Units {
        /// The directory of the slice's control group.
        cgroup: PathBuf,
        /// The parent. If the keeper is killed, the kernel kills the parent too. Then systemd stops the units.
        parent: i32,
    },
    Process {
        pid: i32,
        /// Whether the process gets SIGTERM when the lock is lost.
        kill: bool,
        lock: LockId,
    },
}

/// The identity of a lock on this machine. A keeper is identified by a lock and a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LockId {
    /// The control socket of the daemon that grants the lock.
    pub daemon: PathBuf,
    /// The name of the lock; `None` if it is the token.
    pub name: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    Begin(Box<Assignment>),
    /// The leader of the command's process group was started. It waits at the gate.
    Started {
        pid: i32,
    },
    /// The outcome of the job that runs under the lock. The parent sends this order before [`Order::Exited`].
    Ran {
        /// Whether the job succeeded; `None` if the job never began.
        done: Option<bool>,
    },
    Ended,
    Exited {
        code: u8,
    },
    Check,
    /// The keeper must continue after the end of its parent.
    StandAlone,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Note {
    Granted {
        grant: Grant,
        /// The path of the command's control group; `None` if there is none.
        cgroup: Option<PathBuf>,
    },
    /// The lock was not granted. No other note follows this note.
    NotAcquired(NotAcquired),
    /// A backstop is missing, although the lock is held. The note contains a sentence with the backstop and the reason.
    Exposed(String),
    /// The backstops are in place, and the command may start.
    Go,
    /// The lock is held, with this fencing token.
    Held(String),
    /// The lock is lost, and the keeper ends the command. The note contains the reason of the loss.
    Lost(String),
    /// A process of the command still runs, and the keeper cannot end it. The note contains a sentence with the process
    /// and the reason.
    Outlived(String),
    /// All processes of the command ended, and the lock is released. No other note follows this note.
    Released,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NotAcquired {
    Refused(Refusal),
    /// The lock cannot be bound to the process: the reason, as a sentence.
    Unbound(String),
    /// The keeper cannot reach the granter: the reason, as a sentence.
    NoDaemon(String),
    Error(String),
}
