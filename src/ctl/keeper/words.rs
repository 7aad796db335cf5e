//! The messages between a keeper and its parent.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::control::{Grant, LockRequest, OnceRequest, Refusal, RefusalReason, Request};

/// What a keeper has to do.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) struct Assignment {
    /// The daemon's control socket.
    pub socket: PathBuf,
    /// How the lock is wanted.
    pub want: Want,
    /// Maximum time between SIGTERM and SIGKILL, in milliseconds.
    pub grace_ms: u64,
    /// What the lock is bound to.
    pub binding: Binding,
}

/// What to ask the daemon for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::ctl) enum Want {
    /// The lock.
    Lock(LockRequest),
    /// The lock, for a job that has not run in its period.
    Once(OnceRequest),
}

impl Want {
    /// How the lock is wanted.
    pub(in crate::ctl) const fn lock(&self) -> &LockRequest {
        match self {
            Self::Lock(lock) => lock,
            Self::Once(once) => &once.lock,
        }
    }

    /// Returns the request to the daemon.
    pub(in crate::ctl) fn request(&self) -> Request {
        match self {
            Self::Lock(lock) => Request::Lock(lock.clone()),
            Self::Once(once) => Request::Once(once.clone()),
        }
    }
}

/// What a lock is bound to: when that is gone, so is the lock.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) enum Binding {
    /// A command of the keeper's parent, and the parent itself.
    Command,
    /// A process that this program did not start.
    Process {
        /// Its number.
        pid: i32,
        /// Whether it gets SIGTERM when the lock is lost.
        kill: bool,
    },
}

/// To a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) enum Order {
    /// The first order.
    Begin(Assignment),
    /// The leader of the command's process group has started, and waits at the gate.
    Started {
        /// Its process.
        pid: i32,
    },
    /// The outcome of the job for which the lock is held; comes before [`Order::Ended`].
    Ran {
        /// Whether it has succeeded; `None`: it never began.
        done: Option<bool>,
    },
    /// The command has ended, or the lock is no longer wanted.
    Ended,
    /// Asks whether the lock is held.
    Check,
    /// The keeper goes on when its parent is gone.
    StandAlone,
}

/// From a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) enum Note {
    /// The lock is held.
    Granted {
        /// The daemon's grant.
        grant: Grant,
        /// The control group in which the command will be.
        cgroup: Option<PathBuf>,
    },
    /// The lock is not granted: the last note.
    NotAcquired(Why),
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
pub(in crate::ctl) enum Why {
    /// It is not available now: why, as a sentence.
    Refused(String),
    /// The job has already run in its period: when and where, as a sentence.
    Ran(String),
    /// The same, but that run was lost.
    RunLost(String),
    /// The daemon cannot be reached: why, as a sentence.
    NoDaemon(String),
    /// The daemon answered with an error.
    Error(String),
}

impl Why {
    /// The daemon refuses the lock.
    pub(in crate::ctl) fn of(refusal: Refusal) -> Self {
        match refusal.why {
            // Neither waiting nor another attempt helps.
            RefusalReason::Nested | RefusalReason::Names | RefusalReason::Mtu => {
                Self::Error(refusal.text)
            }
            RefusalReason::Ran if refusal.lost => Self::RunLost(refusal.text),
            RefusalReason::Ran => Self::Ran(refusal.text),
            _ => Self::Refused(refusal.text),
        }
    }
}
