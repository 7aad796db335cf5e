//! The CPU share of a thread or session.

use std::fs;
use std::io;

use rustix::process::{getpriority_process, setpriority_process};

/// The nice value for threads that a busy machine must not delay. If an owner of the token waits for the CPU longer
/// than its lease, it is replaced. If the keeper of a lock waits that long, the work under the lock ends. Neither the
/// machine nor the network is broken then.
pub const URGENT_NICE: i32 = -10;

/// Sets the CPU share of the calling process's session, compared with other sessions, to that of the nice value
/// `nice`. Many kernels divide CPU time among sessions first, and then among the processes of a session by their nice
/// values (autogroup). There, a session that mostly sleeps may wait for seconds while another one is busy.
///
/// # Errors
/// The kernel refused it: a larger share needs `CAP_SYS_NICE` or a resource limit. Or the kernel has no autogroups.
pub fn set_session_priority(nice: i32) -> io::Result<()> {
    fs::write("/proc/self/autogroup", nice.to_string())
}

/// Raises the calling thread's CPU share to that of the nice value `nice`: -20 is the largest share, 19 the smallest,
/// 0 the default. A thread with a larger share keeps it.
///
/// # Errors
/// The kernel refused it: a larger share needs `CAP_SYS_NICE` or a resource limit.
pub fn raise_priority(nice: i32) -> io::Result<()> {
    if current()? <= nice {
        Ok(())
    } else {
        set(nice)
    }
}

/// Lowers the CPU share of the calling thread, and of all that it starts later, to that of the nice value `nice`. A
/// thread with a smaller share keeps it.
///
/// # Errors
/// The kernel refused it: a filter of system calls is active.
pub fn lower_priority(nice: i32) -> io::Result<()> {
    if current()? >= nice {
        Ok(())
    } else {
        set(nice)
    }
}

// Without a process id, both calls apply to the calling thread.
fn current() -> io::Result<i32> {
    Ok(getpriority_process(None)?)
}

fn set(nice: i32) -> io::Result<()> {
    Ok(setpriority_process(None, nice)?)
}
