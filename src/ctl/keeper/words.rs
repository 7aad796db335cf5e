//! What a keeper and who has started it say to each other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::control::{Grant, LockRequest, OnceRequest, Refusal, RefusalReason, Request};

/// What a keeper is for.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) struct Assignment {
    /// The daemon's control socket.
    pub socket: PathBuf,
    /// How the lock is wanted.
    pub want: Want,
    /// The most time between SIGTERM and SIGKILL, in milliseconds.
    pub grace_ms: u64,
    /// Whom the lock is for.
    pub binding: Binding,
}

/// What is asked of the daemon.
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

    /// The same to the daemon.
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
    /// A command of the one who has started the keeper, and that one itself.
    Command,
    /// A process that this program was not started to run.
    Process {
        /// Its number.
        pid: i32,
        /// Whether it is told by SIGTERM that the lock is lost.
        kill: bool,
    },
}

/// To a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) enum Order {
    /// The first: what it is for.
    Begin(Assignment),
    /// The leader of the command's process group is there, and waits for its start.
    Started {
        /// Its process.
        pid: i32,
    },
    /// What became of the job for which the lock is held; before [`Order::Ended`].
    Ran {
        /// Whether it has succeeded; `None`: it never began.
        done: Option<bool>,
    },
    /// The command has ended, or the lock is not wanted any more.
    Ended,
    /// Whether the lock is held.
    Check,
    /// The keeper is to go on when who has started it is gone.
    StandAlone,
}

/// From a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ctl) enum Note {
    /// The lock is held.
    Granted {
        /// As the daemon said it.
        grant: Grant,
        /// The control group in which the command will be.
        cgroup: Option<PathBuf>,
    },
    /// There is no lock: the last note.
    NotAcquired(Why),
    /// The command is watched, and may start.
    Go,
    /// The lock is held, with this fencing token.
    Held(String),
    /// The lock is lost, the command is being ended.
    Lost(String),
    /// Something of the command cannot be ended, and works on: what, and why, as a sentence.
    Outlived(String),
    /// Nothing of the command is left, and the lock is given back: the last note.
    Released,
}

/// Why there is no lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::ctl) enum Why {
    /// It is not to be had now: why, as a sentence.
    Refused(String),
    /// It is not needed, the job has run in its period: when and where, as a sentence.
    Ran(String),
    /// The daemon is not reached: why, as a sentence.
    NoDaemon(String),
    /// The daemon answered with an error.
    Error(String),
}

impl Why {
    /// The daemon refuses the lock.
    pub(in crate::ctl) fn of(refusal: Refusal) -> Self {
        match refusal.why {
            // To wait for somebody else, or to try again, does not help.
            RefusalReason::Nested | RefusalReason::Names | RefusalReason::Mtu => {
                Self::Error(refusal.text)
            }
            RefusalReason::Ran => Self::Ran(refusal.text),
            _ => Self::Refused(refusal.text),
        }
    }
}
