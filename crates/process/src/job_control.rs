//! Lets a program stop its job, as Ctrl-Z does.
#![allow(
    unsafe_code,
    reason = "no library restores the default effect of a signal and then catches the signal again"
)]

use std::io;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::unistd::Pid;

/// Stops the process group of this process as Ctrl-Z does, even if this process catches SIGTSTP. Returns when the group
/// is continued. If no shell controls the group, the kernel does not stop this process. This function does not use
/// SIGSTOP: it would stop the process even then, and no shell would continue it.
///
/// # Errors
/// Fails only if a basic system call fails.
pub fn stop_group() -> io::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default effect runs no code of this process.
    let caught = unsafe { sigaction(Signal::SIGTSTP, &default) }?;
    let sent = kill(Pid::from_raw(0), Signal::SIGTSTP);
    // SAFETY: the handler was set before this call, and handlers stay valid until the process ends.
    unsafe { sigaction(Signal::SIGTSTP, &caught) }?;
    Ok(sent?)
}
