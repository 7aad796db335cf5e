//! Detaches a process from its parent process.

use std::ffi::CStr;
use std::fs;
use std::io;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{close, setsid};
use ring_runtime::nice;

/// Gives this process a new name, moves it to a new session, and closes all descriptors except standard input, output
/// and error.
pub(crate) fn detach(name: &CStr) -> io::Result<()> {
    prctl::set_name(name)?;
    // When a service stops, the service manager signals all its processes. The keeper blocks this signal, because it
    // must not end before its work has ended.
    let mut blocked = SigSet::all();
    blocked.remove(Signal::SIGCHLD);
    blocked.thread_block()?;
    setsid()?;
    // The daemon and its threads run with the same priority. A failure is harmless: then the keeper keeps the normal
    // priority.
    let _ = nice::raise_priority(nice::URGENT_NICE);
    let _ = nice::set_session_priority(nice::URGENT_NICE);
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    // Ignore errors: the list also contains the descriptor of the directory itself, which is already closed.
    for fd in open.into_iter().filter(|&fd| fd > 2) {
        let _ = close(fd);
    }
    Ok(())
}
