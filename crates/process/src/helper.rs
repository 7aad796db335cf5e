//! A second process that is a copy of this process, for work that needs permissions which this process gives up.
#![allow(
    unsafe_code,
    reason = "the copy continues in the code of this process, so it needs fork without exec"
)]

use std::ffi::CStr;
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

/// Starts a copy of this process, which does `work` with one end of a connection and then ends. Returns the other end.
/// `name` is the name that `ps -e` shows. The kernel kills the copy when the calling thread ends. The copy ignores
/// signals, because the signals that a terminal or a service manager sends to all processes concern only the caller.
///
/// Call this function while the process has a single thread. The copy has only this thread, so it would wait
/// indefinitely for a lock of another thread.
///
/// # Errors
/// Fails if the process has too many files open, or if the system has too many processes.
pub fn start(name: &CStr, work: impl FnOnce(UnixStream)) -> io::Result<UnixStream> {
    let (near, far) = UnixStream::pair()?;
    let parent = getpid();
    // SAFETY: the copy uses only its copy of the memory. It has no other thread whose locks it could need.
    if let ForkResult::Parent { .. } = unsafe { fork() }? {
        return Ok(near);
    }
    drop(near);
    // The code of the caller must not continue in the copy, even after a panic.
    let done = catch_unwind(AssertUnwindSafe(|| {
        if prepare(name, parent).is_ok() {
            work(far);
        }
    }));
    // SAFETY: the call takes no pointers. It writes no buffered output, because the caller writes the same buffers.
    unsafe { libc::_exit(i32::from(done.is_err())) }
}

fn prepare(name: &CStr, parent: Pid) -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // If the parent ended before the call above, the kernel does not kill this process.
    if getppid() != parent {
        return Err(Errno::ESRCH);
    }
    SigSet::all().thread_block()?;
    prctl::set_name(name)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::{Pid, getpid};

    use super::start;

    #[test]
    fn a_helper_ignores_signals_and_ends_with_the_thread_that_started_it() {
        let mut helper = thread::spawn(|| {
            let mut helper = start(c"helper", |mut parent| {
                let own = getpid().as_raw().to_le_bytes();
                let _ = parent.write_all(&own);
                let mut byte = [0];
                while parent.read_exact(&mut byte).is_ok() && parent.write_all(&byte).is_ok() {}
            })
            .unwrap();
            let mut number = [0; 4];
            helper.read_exact(&mut number).unwrap();
            let helper_pid = Pid::from_raw(i32::from_le_bytes(number));
            assert_ne!(helper_pid, getpid());
            kill(helper_pid, Signal::SIGTERM).unwrap();
            let mut answer = [0];
            helper.write_all(b"x").unwrap();
            helper.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"x");
            helper
        })
        .join()
        .unwrap();
        // The connection closes, although this end is still open.
        assert_eq!(helper.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_panic_ends_only_the_helper() {
        let mut helper = start(c"helper", |_| panic!("this panic is intended")).unwrap();
        assert_eq!(helper.read(&mut [0]).unwrap(), 0);
    }
}
