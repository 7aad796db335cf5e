//! The gate: a process that waits for permission, and then becomes a command.
//!
//! The keeper ends the command when the lock is lost, so it must know the process of the command before the command
//! runs. In addition, the command must own the terminal before it reads from it. So the process starts as another
//! `ringctl`, and becomes the command when the gate opens. If all processes that could open the gate have ended, the
//! waiting process ends.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;
use ring_process::{broken_pipe, inherited_socket, spawn_in_cgroup};

use super::keeper::THIS_PROGRAM;

/// A shell's exit code for a command that exists but cannot be run.
const CANNOT_RUN_CODE: u8 = 126;
/// A shell's exit code for a command that does not exist.
const NOT_FOUND_CODE: u8 = 127;

pub(super) struct Gate {
    opener: UnixStream,
    pid: Pid,
    is_open: bool,
}

impl Gate {
    /// Starts the process, if possible in the control group with this folder.
    pub(super) fn start(
        command: &[OsString],
        environment: &[(&str, String)],
        cgroup: Option<&Path>,
    ) -> io::Result<Self> {
        let (opener, gate) = UnixStream::pair()?;
        // The new process inherits only this end of the gate, and closes it when it becomes the command.
        fcntl(&gate, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let mut program = Command::new(THIS_PROGRAM);
        broken_pipe::pass_on(&mut program);
        program
            .arg0("ringctl")
            .args(["become", "--gate", &gate.as_raw_fd().to_string(), "--"])
            .args(command)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .process_group(0);
        let started = cgroup.and_then(|cgroup| spawn_in_cgroup(&mut program, cgroup).ok());
        let pid = match started {
            Some(pid) => pid,
            // The keeper moves this process into the group.
            None => Pid::from_raw(i32::try_from(program.spawn()?.id()).map_err(io::Error::other)?),
        };
        Ok(Self {
            opener,
            pid,
            is_open: false,
        })
    }

    /// Returns the number of the process. The number stays the same when the process becomes the command.
    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the process failed to become the command after the gate had opened. The exit code does not show this
    /// failure, because a command that has run may end with the same code.
    pub(super) fn failed_to_exec(&self) -> bool {
        let flags = MsgFlags::MSG_DONTWAIT;
        self.is_open && recv(self.opener.as_raw_fd(), &mut [0], flags) == Ok(1)
    }

    /// Opens the gate. Has no effect if the waiting process was killed.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        let _ = self.opener.write_all(b"!");
    }
}

/// Waits until the gate opens, and then becomes the command. Returns an exit code if the process cannot become the
/// command.
pub(crate) fn become_when_opened(gate: RawFd, command: &[OsString]) -> u8 {
    let Some((program, arguments)) = command.split_first() else {
        return CANNOT_RUN_CODE;
    };
    let Ok(mut gate) = inherited_socket::take_over(gate).map(UnixStream::from) else {
        return CANNOT_RUN_CODE;
    };
    if gate.read_exact(&mut [0]).is_err() {
        // All processes that could open the gate have ended.
        return CANNOT_RUN_CODE;
    }
    let Err(error) = become_command(program, arguments);
    // A failure is harmless: if the process that opened the gate has ended, no process needs the message.
    let _ = gate.write_all(b"!");
    cannot_run(program, &error)
}

/// Prints an error for a command that cannot be run, and returns the exit code that shells use.
pub(super) fn cannot_run(program: &OsStr, error: &io::Error) -> u8 {
    // If the message cannot be printed, the exit code still shows the failure.
    let program = program.display();
    let _ = writeln!(io::stderr(), "ringctl: cannot run {program}: {error}");
    match error.kind() {
        ErrorKind::NotFound => NOT_FOUND_CODE,
        _ => CANNOT_RUN_CODE,
    }
}

/// Replaces this process by a command. Returns only an error.
///
/// # Errors
pub(super) fn become_command(
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Infallible, io::Error> {
    let mut command = Command::new(program);
    broken_pipe::pass_on(&mut command);
    Err(command.args(arguments).exec())
}
