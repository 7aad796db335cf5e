//! The thread's share of a busy machine.

use std::fs;
use std::io;

use rustix::process::{getpriority_process, setpriority_process};

/// The nice value of what a busy machine must not keep waiting, where it may have one: an owner of the
/// token that waits for the CPU for longer than it is trusted is replaced, and work under the token
/// whose keeper does ends, though nothing is wrong with either or the network.
pub const URGENT: i32 = -10;

/// Gives the calling process's session the share of CPU time among sessions that the nice value `nice`
/// stands for. Many kernels share the CPU out to sessions first, and to the processes of each by their
/// own nice values then (autogroup): a session that mostly sleeps may wait for seconds beside a busy one.
///
/// # Errors
/// The kernel refused it: a larger share takes `CAP_SYS_NICE`, or a resource limit. Or it does not
/// share the CPU out so.
pub fn of_session(nice: i32) -> io::Result<()> {
    fs::write("/proc/self/autogroup", nice.to_string())
}

/// Gives the calling thread at least the share of CPU time that the nice value `nice` stands for:
/// -20 is the largest, 19 the smallest, 0 what processes have if nobody says otherwise. One that
/// has a larger share keeps it.
///
/// # Errors
/// The kernel refused it: a larger share takes `CAP_SYS_NICE` or a resource limit.
pub fn at_most(nice: i32) -> io::Result<()> {
    if current()? <= nice {
        Ok(())
    } else {
        set(nice)
    }
}

/// Gives the calling thread, and what it starts from now on, no more than the share of CPU time
/// that the nice value `nice` stands for. One that has a smaller share keeps it.
///
/// # Errors
/// The kernel refused it: a filter of system calls is in force.
pub fn at_least(nice: i32) -> io::Result<()> {
    if current()? >= nice {
        Ok(())
    } else {
        set(nice)
    }
}

// The calls are named for a process, and mean the thread that makes them where none is given.
fn current() -> io::Result<i32> {
    Ok(getpriority_process(None)?)
}

fn set(nice: i32) -> io::Result<()> {
    Ok(setpriority_process(None, nice)?)
}
