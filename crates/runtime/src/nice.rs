//! The share of CPU time of a thread or session.

use std::fs;
use std::io;

use rustix::process::{getpriority_process, setpriority_process};

/// The nice value for threads that a busy machine must not delay. If an owner of the token waits for the CPU longer
/// than its lease, the ring replaces this owner. If a process waits that long before it renews a lock, the work under
/// the lock ends. A delay on a busy machine is avoidable, because neither the machine nor the network is broken.
pub const URGENT_NICE: i32 = -10;

/// Sets the CPU share of the calling process's session, compared with other sessions. The session gets the share that
/// the nice value `nice` stands for. Many kernels first divide CPU time among sessions, and then among the processes of
/// a session by their nice values (autogroup). With such a kernel, a session that usually sleeps may wait for seconds
/// while another session is busy.
///
/// # Errors
/// Fails if the kernel refuses the value, because a larger share needs `CAP_SYS_NICE` or a resource limit. Also fails
/// if the kernel has no autogroups.
pub fn set_session_priority(nice: i32) -> io::Result<()> {
    fs::write("/proc/self/autogroup", nice.to_string())
}

/// Raises the calling thread's CPU share to the share that the nice value `nice` stands for. The nice value of the
/// largest share is -20, of the smallest share 19, and of the default share 0. A thread that already has a larger share
/// keeps it.
///
/// # Errors
/// Fails if the kernel refuses the value, because a larger share needs `CAP_SYS_NICE` or a resource limit.
pub fn raise_priority(nice: i32) -> io::Result<()> {
    if current()? <= nice {
        Ok(())
    } else {
        set(nice)
    }
}

/// Lowers the CPU share of the calling thread to the share that the nice value `nice` stands for. All threads and
/// processes that the thread starts later inherit this share. A thread that already has a smaller share keeps it.
///
/// # Errors
/// Fails if the kernel refuses the call, because a filter of system calls is active.
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
