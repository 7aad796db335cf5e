//! The thread's share of a busy machine.

#![allow(unsafe_code, reason = "nix has no call for it")]

use std::io;

/// Gives the calling thread at least the share of CPU time that the nice value `nice` stands for:
/// -20 is the largest, 19 the smallest, 0 what processes have if nobody says otherwise. One that
/// has a larger share keeps it.
///
/// # Errors
/// The kernel refused it: a larger share takes `CAP_SYS_NICE` or a resource limit.
pub fn at_most(nice: i32) -> io::Result<()> {
    let this_thread = 0;
    // SAFETY: the call takes no pointers. It cannot fail for the calling thread; -1 is a nice value.
    let current = unsafe { libc::getpriority(libc::PRIO_PROCESS, this_thread) };
    if current <= nice {
        return Ok(());
    }
    // SAFETY: the call takes no pointers.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, this_thread, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
