//! Changes the share of the CPU time that a thread or a session gets.
#![allow(
    unsafe_code,
    reason = "no crate has the two calls for the scheduler's flags, and the functions of musl always fail"
)]

use std::fs;
use std::io;

use nix::errno::Errno;
use rustix::process::{getpriority_process, setpriority_process};

/// The nice value for threads that a busy machine must not delay. If an owner of the token waits for the CPU longer
/// than its lease, the ring replaces this owner. If a process that must renew a lock waits that long, the work under
/// the lock is ended. Such delays are avoidable, because neither the machine nor the network has failed.
pub const URGENT_NICE: i32 = -10;

/// Sets the CPU share of the session of this process, as if the session were one process with the nice value `nice`.
/// Many kernels first divide the CPU time among the sessions (autogroup). Only then do they divide the time of a
/// session among its processes, by their nice values. On such a kernel, a process that usually sleeps may wait for
/// seconds while another session is busy.
///
/// # Errors
/// Fails if the kernel refuses the value, because a larger share needs `CAP_SYS_NICE` or a resource limit. Also fails
/// if the kernel has no autogroups.
pub fn set_session_priority(nice: i32) -> io::Result<()> {
    fs::write("/proc/self/autogroup", nice.to_string())
}

/// Raises the CPU share of the calling thread to the share for the nice value `nice`. The nice value -20 gives the
/// largest share, 19 gives the smallest share, and 0 is the default. A thread that already has a larger share keeps it.
/// Threads and processes that the thread starts later get the default share, because their work may wait.
///
/// # Errors
/// Fails if the kernel refuses the value, because a larger share needs `CAP_SYS_NICE` or a resource limit.
pub fn raise_priority(nice: i32) -> io::Result<()> {
    // The system call filter of the units forbids this call, and the units set the flag themselves.
    let _ = reset_on_fork();
    if current()? <= nice {
        Ok(())
    } else {
        set(nice)
    }
}

/// Makes threads and processes that the calling thread starts later begin with the default share. Does nothing if the
/// thread has a scheduling policy that is not the default.
fn reset_on_fork() -> nix::Result<()> {
    let priority: libc::c_int = 0;
    // SAFETY: the call takes no pointers.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if policy != libc::c_long::from(libc::SCHED_OTHER) {
        return Ok(());
    }
    // SAFETY: the kernel reads the priority, a single integer that lives until the call returns.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK,
            &raw const priority,
        )
    };
    Errno::result(done).map(drop)
}

/// Lowers the CPU share of the calling thread to the share for the nice value `nice`. All threads and processes that
/// the thread starts later inherit this share. A thread that already has a smaller share keeps it.
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{URGENT_NICE, current, raise_priority};

    #[test]
    fn a_thread_with_a_raised_priority_starts_threads_with_the_default_priority() {
        let values = || {
            raise_priority(URGENT_NICE).ok()?;
            let child = thread::spawn(|| current().unwrap());
            Some((current().unwrap(), child.join().unwrap()))
        };
        // Without the permission to raise the priority, the test has nothing to check.
        if let Some((own, child)) = thread::spawn(values).join().unwrap() {
            assert!(own <= URGENT_NICE);
            assert_eq!(child, 0);
        }
    }
}
