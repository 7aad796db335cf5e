//! A named lock and its program, for events and hooks.

use ring_codec::lab2::{LockMode, Token};
use ring_control::lab2::{Grade, LockMode as ModeName};
use ring_proto::lab2::{LockName, LockProgram};

use super::{Holder, Waiter};

/// A named lock that a program of this machine holds, or that it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgramLock {
    pub name: LockName,
    pub mode: ModeName,
    /// The grade that the program requires.
    pub grade: Grade,
    pub program: LockProgram,
    /// The fencing token; `None` if the program does not have the lock.
    pub fence: Option<Token>,
}

impl ProgramLock {
    pub(super) fn of_waiter(waiter: &Waiter) -> Self {
        let (lock, request) = (waiter.own.lock, &waiter.request);
        let program = match (request.label.as_str(), waiter.client.pid) {
            ("", Some(pid)) => LockProgram::new(&format!("process {pid}")),
            (label, _) => LockProgram::new(label),
        };
        Self {
            name: lock.name,
            mode: mode_name(lock.mode),
            grade: request.require.unwrap_or(Grade::Alone),
            program,
            fence: None,
        }
    }

    pub(super) fn of_holder(holder: &Holder) -> Self {
        Self {
            fence: Some(holder.token),
            ..Self::of_waiter(&holder.waiter)
        }
    }
}

/// Returns the mode in the encoding of the control socket.
pub(crate) const fn mode_name(mode: LockMode) -> ModeName {
    match mode {
        LockMode::Exclusive => ModeName::Exclusive,
        LockMode::Shared => ModeName::Shared,
    }
}
