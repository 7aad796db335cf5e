//! The gate: a process that will become a command, and waits until it may.
//!
//! The process that ends the command on loss must know it before it runs anything, and the terminal must be the
//! command's before it reads from there. So the process starts first, as this program again, and becomes the
//! command when it is told to. It ends if no process is left to tell it.

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
use ring_process::{broken_pipe, inherited};

use super::keeper::THIS_PROGRAM;

/// A shell's exit code for a command that exists but cannot be run.
const CANNOT_RUN: u8 = 126;
/// A shell's exit code for a command that does not exist.
const NOT_FOUND: u8 = 127;

/// A process that waits to become a command.
pub(super) struct Gate {
    opener: UnixStream,
    pid: Pid,
    is_open: bool,
}

impl Gate {
    /// Starts the process, in a process group of its own.
    pub(super) fn shut(command: &[OsString], environment: &[(&str, String)]) -> io::Result<Self> {
        let (opener, gate) = UnixStream::pair()?;
        // Only this end is for the new process; it closes when the command begins.
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

    /// Returns the process: first the one that waits, later the command.
    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether the gate was opened, so that the command may have begun.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the process, which has ended, could not become the command after the gate was opened. The exit code
    /// does not tell: a command that did begin may end with the same.
    pub(super) fn is_shut_again(&self) -> bool {
        let flags = MsgFlags::MSG_DONTWAIT;
        self.is_open && recv(self.opener.as_raw_fd(), &mut [0], flags) == Ok(1)
    }

    /// Opens the gate. A process that was killed there does not notice.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        let _ = self.opener.write_all(b"!");
    }
}

/// Waits at the gate and becomes the command. Returns an exit code if that fails.
pub(crate) fn wait_and_become(gate: RawFd, command: &[OsString]) -> u8 {
    let Some((program, arguments)) = command.split_first() else {
        return CANNOT_RUN;
    };
    let Ok(mut gate) = inherited::take_over(gate).map(UnixStream::from) else {
        return CANNOT_RUN;
    };
    if gate.read_exact(&mut [0]).is_err() {
        // No process is left that could open it.
        return CANNOT_RUN;
    }
    let Err(error) = become_command(program, arguments);
    // If the process that opened it is gone, nobody needs the message.
    let _ = gate.write_all(b"!");
    cannot_run(program, &error)
}

/// Prints that a command cannot be run, and returns a shell's exit code for that.
pub(super) fn cannot_run(program: &OsStr, error: &io::Error) -> u8 {
    // If standard error is closed, the exit code still tells.
    let program = program.display();
    let _ = writeln!(io::stderr(), "ringctl: cannot run {program}: {error}");
    match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RUN,
    }
}

/// Replaces this process by a command.
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
