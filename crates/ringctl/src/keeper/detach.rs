//! A process that lives apart from who has started it.

use std::ffi::CStr;
use std::fs;
use std::io;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{close, setsid};
use ring_runtime::nice;

/// Leaves the terminal under another name, and closes all that the caller had open but for its standard input, output
/// and error.
///
/// # Errors
/// A system call failed that does not fail on a healthy system.
pub(crate) fn detach(name: &CStr) -> io::Result<()> {
    prctl::set_name(name)?;
    // The service manager signals all processes of a service at its end. This one ends when its work is done.
    let mut deaf = SigSet::all();
    deaf.remove(Signal::SIGCHLD);
    deaf.thread_block()?;
    setsid()?;
    // As the daemon does, and its new session too. Where it may not it takes its chance.
    let _ = nice::at_most(nice::URGENT);
    let _ = nice::of_session(nice::URGENT);
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    // The directory that was just listed is among them, and is closed already.
    for fd in open.into_iter().filter(|&fd| fd > 2) {
        let _ = close(fd);
    }
    Ok(())
}
