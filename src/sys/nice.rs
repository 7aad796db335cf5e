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
    if current() <= nice { Ok(()) } else { set(nice) }
}

/// Gives the calling thread, and what it starts from now on, no more than the share of CPU time
/// that the nice value `nice` stands for. One that has a smaller share keeps it.
///
/// # Errors
/// The kernel refused it: a filter of system calls is in force.
pub fn at_least(nice: i32) -> io::Result<()> {
    if current() >= nice { Ok(()) } else { set(nice) }
}

/// What the calls take for the thread that makes them.
const THIS_THREAD: libc::id_t = 0;

fn current() -> i32 {
    // SAFETY: the call takes no pointers. It cannot fail for the calling thread; -1 is a nice value.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, THIS_THREAD) }
}

fn set(nice: i32) -> io::Result<()> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, THIS_THREAD, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
