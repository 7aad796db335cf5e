//! The gate: a process that is to become a command, but waits until it may.
//!
//! Whoever ends the command on loss must know its process before it runs anything, and the
//! terminal must be its own before it reads from there. So the process is made first, as this
//! program again, and becomes the command when it is told. If nobody is left to tell it, it ends.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;

use super::keeper::THIS_PROGRAM;
use crate::sys::{broken_pipe, inherited};

/// A shell's exit code for a command that is there but cannot be run.
const CANNOT_RUN: u8 = 126;
/// A shell's exit code for a command that is not there.
const NOT_FOUND: u8 = 127;

/// A process that waits to become a command.
pub(super) struct Gate {
    opener: UnixStream,
    pid: Pid,
    is_open: bool,
}

impl Gate {
    /// Makes the process, in a process group of its own that it leads.
    ///
    /// # Errors
    /// The system has no room for another process.
    pub(super) fn shut(command: &[OsString], environment: &[(&str, String)]) -> io::Result<Self> {
        let (opener, gate) = UnixStream::pair()?;
        // This one alone is for the new process; it is closed when the command begins.
        fcntl(&gate, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let mut program = Command::new(THIS_PROGRAM);
        broken_pipe::pass_on(&mut program);
        let child = program
            .arg0("ringctl")
            .args(["become", "--gate", &gate.as_raw_fd().to_string(), "--"])
            .args(command)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let pid = Pid::from_raw(pid);
        Ok(Self {
            opener,
            pid,
            is_open: false,
        })
    }

    /// The process: first the one that waits, then the command.
    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether the command was let go, and so may have begun its work.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the process, which has ended, was let go and yet could not become the command. What exit
    /// code a command has that did begin says nothing of that.
    pub(super) fn is_shut_again(&self) -> bool {
        let flags = MsgFlags::MSG_DONTWAIT;
        self.is_open && recv(self.opener.as_raw_fd(), &mut [0], flags) == Ok(1)
    }

    /// Lets the command run. One that was killed at the gate does not hear it.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        let _ = self.opener.write_all(b"!");
    }
}

/// Waits at the gate and becomes the command; the exit code, if it does not.
pub fn wait_and_become(gate: RawFd, command: &[OsString]) -> u8 {
    let Some((program, arguments)) = command.split_first() else {
        return CANNOT_RUN;
    };
    let Ok(mut gate) = inherited::take_over(gate).map(UnixStream::from) else {
        return CANNOT_RUN;
    };
    if gate.read_exact(&mut [0]).is_err() {
        // Nobody is left who could open it.
        return CANNOT_RUN;
    }
    let Err(error) = become_command(program, arguments);
    // Where whoever opened it is gone, nobody counts on it.
    let _ = gate.write_all(b"!");
    cannot_run(program, &error)
}

/// Says that a command cannot be run; the exit code that shells have for it.
pub(super) fn cannot_run(program: &OsStr, error: &io::Error) -> u8 {
    // Where nobody can be told, the exit code still says it.
    let program = program.display();
    let _ = writeln!(io::stderr(), "ringctl: cannot run {program}: {error}");
    match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RUN,
    }
}

/// Replaces this process with a command.
///
/// # Errors
/// Always, if it returns.
pub(super) fn become_command(
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Infallible, io::Error> {
    let mut command = Command::new(program);
    broken_pipe::pass_on(&mut command);
    Err(command.args(arguments).exec())
}
