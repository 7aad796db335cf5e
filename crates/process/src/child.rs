//! Processes that take nothing along from the thread that starts them, and do not outlive it.
#![allow(
    unsafe_code,
    reason = "only what runs between fork and exec can see to that in time"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// The first descriptor past the standard streams.
const FIRST: libc::c_uint = 3;

/// Lets the process that `command` starts have no descriptors but its three streams, and has it
/// killed if the calling thread ends before it, in whatever way. What the process starts in turn
/// is not.
pub fn detach(command: &mut Command) {
    let parent = process::id();
    let prepare = move || {
        close_on_exec()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // Whoever ended before that took nobody along.
        if u32::try_from(getppid().as_raw()) == Ok(parent) {
            Ok(())
        } else {
            Err(io::Error::from(Errno::ESRCH))
        }
    };
    // SAFETY: between fork and exec this makes three system calls, and takes no memory or lock.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Closes, on exec, what whoever started this process has left open too. The standard library
/// still needs its own until then.
fn close_on_exec() -> nix::Result<()> {
    // SAFETY: the call takes no pointers, and closes nothing in this process.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    Errno::result(done).map(drop)
}
