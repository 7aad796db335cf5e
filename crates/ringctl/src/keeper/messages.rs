//! The messages between a keeper and its parent.

use std::path::PathBuf;

use ring_control::{Grant, OwnJson, Refusal};
use serde::{Deserialize, Serialize};

use super::Granter;
use ring_client::lease::Margins;

/// What a keeper has to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// Who grants the lock.
    pub granter: Granter,
    /// The request for the lock.
    pub request: OwnJson,
    /// How long the answer to it may take, in milliseconds; `None`: any time.
    pub wait_ms: Option<u64>,
    /// For the lock of a job.
    pub reports: Option<JobReports>,
    /// The margins of the lock's leases.
    pub margins: Margins,
    /// Maximum time between SIGTERM and SIGKILL, in milliseconds.
    pub grace_ms: u64,
    /// What the lock is bound to.
    pub binding: Binding,
}

/// How the daemon is told what has become of the job that a lock is for, each as the request for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobReports {
    /// It was not begun.
    pub not_begun: OwnJson,
    /// It has succeeded.
    pub done: OwnJson,
    /// It has failed.
    pub failed: OwnJson,
}

/// What a lock is bound to: when that is gone, so is the lock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Binding {
    /// A command of the keeper's parent, and the parent itself.
    Command,
    /// A process that this program did not start.
    Process {
        /// Its number.
        pid: i32,
        /// Whether it gets SIGTERM when the lock is lost.
        kill: bool,
        /// The control socket of the daemon that grants the lock: by it and `pid` the keeper is found again.
        daemon: PathBuf,
    },
}

/// To a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The first order.
    Begin(Box<Assignment>),
    /// The leader of the command's process group has started, and waits at the gate.
    Started {
        /// Its process.
        pid: i32,
    },
    /// The outcome of the job for which the lock is held; comes before [`Order::Exited`].
    Ran {
        /// Whether it has succeeded; `None`: it never began.
        done: Option<bool>,
    },
    /// The lock is no longer wanted.
    Ended,
    /// The command has ended.
    Exited {
        /// Its exit code.
        code: u8,
    },
    /// Asks whether the lock is held.
    Check,
    /// The keeper goes on when its parent is gone.
    StandAlone,
}

/// From a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Note {
    /// The lock is held.
    Granted {
        /// What was granted.
        grant: Grant,
        /// The control group in which the command will be.
        cgroup: Option<PathBuf>,
    },
    /// The lock is not granted: the last note.
    NotAcquired(NotAcquired),
    /// Not all that was to end the work would: what does not, as a sentence. The lock is held all the same.
    Exposed(String),
    /// The command is watched, and may start.
    Go,
    /// The lock is held, with this fencing token.
    Held(String),
    /// The lock is lost, and the keeper is ending the command.
    Lost(String),
    /// A process of the command cannot be ended and is still at work: which, and why, as a sentence.
    Outlived(String),
    /// Nothing of the command is left, and the lock is given back: the last note.
    Released,
}

/// Why the lock is not granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NotAcquired {
    /// It is refused.
    Refused(Refusal),
    /// It cannot be bound to its process: why, as a sentence.
    Unbound(String),
    /// Who grants it cannot be reached: why, as a sentence.
    NoDaemon(String),
    /// Who grants it answered with an error.
    Error(String),
}
