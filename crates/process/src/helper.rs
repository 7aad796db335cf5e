//! A second process that is a copy of this process. It does work that needs permissions which this process gives up, or
//! work after the death of this process.
#![allow(
    unsafe_code,
    reason = "the copy continues in the code of this process, so it needs fork without exec"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use crate::WorkLines;

/// The first descriptor after the standard streams.
const FIRST_OTHER: RawFd = 3;
/// The signal that a survivor gets at the end of its caller.
const END_SIGNAL: Signal = Signal::SIGUSR1;

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
    copy(name, Signal::SIGKILL, |far, _| work(far))
}

/// Starts a copy of this process that outlives this process, like [`start`]. The copy has only the descriptors of
/// `kept` and the standard streams. `work` can wait for the end of the calling thread. Keep the returned connection
/// open until then. Over this connection, the caller can [pass](crate::pass_work_line) lines to the copy.
///
/// # Errors
/// Fails if the process has too many files open, or if the system has too many processes.
pub fn start_survivor(
    name: &CStr,
    kept: &[BorrowedFd<'_>],
    work: impl FnOnce(CallerEnd),
) -> io::Result<UnixStream> {
    copy(name, END_SIGNAL, |line, parent| {
        let kept = kept.iter().map(AsRawFd::as_raw_fd);
        close_all_but(kept.chain([line.as_raw_fd()]).collect());
        let mut signals = SigSet::empty();
        signals.add(END_SIGNAL);
        if let Ok(signals) = SignalFd::new(&signals) {
            work(CallerEnd {
                signals,
                line,
                parent,
            });
        }
    })
}

/// The end of the thread that started a survivor.
#[derive(Debug)]
pub struct CallerEnd {
    signals: SignalFd,
    /// The connection closes some milliseconds after the thread has ended. It closes even if the signal was lost,
    /// because a person sent the same signal.
    line: UnixStream,
    parent: Pid,
}

impl CallerEnd {
    /// Waits until the thread has ended, and receives the lines that it passes over the connection. The kernel reports
    /// the end before it closes the descriptors of the process. Returns whether the thread has really ended; `false` if
    /// a system call fails.
    #[must_use]
    pub fn wait(&self, lines: &mut WorkLines) -> bool {
        loop {
            let mut ends = [self.signals.as_fd(), self.line.as_fd()]
                .map(|end| PollFd::new(end, PollFlags::POLLIN));
            if poll(&mut ends, PollTimeout::NONE).is_err() {
                return false;
            }
            if ends[0].any().unwrap_or(true) {
                // A person may send the signal too.
                let is_of_caller = |pid: u32| i32::try_from(pid) == Ok(self.parent.as_raw());
                match self.signals.read_signal() {
                    Ok(Some(signal)) if is_of_caller(signal.ssi_pid) => {
                        // The guardian does not act for a program whose line is missing.
                        let _ = lines.receive_all(&self.line);
                        return true;
                    }
                    Ok(_) => {}
                    Err(_) => return false,
                }
            }
            match lines.receive_all(&self.line) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
    }
}

/// Forks, and does `work` in the copy with one end of a connection and the process of the caller. Returns the other
/// end. The copy gets `signal` at the end of the calling thread.
fn copy(name: &CStr, signal: Signal, work: impl FnOnce(UnixStream, Pid)) -> io::Result<UnixStream> {
    let (near, far) = UnixStream::pair()?;
    let parent = getpid();
    // SAFETY: the copy uses only its copy of the memory. It has no other thread whose locks it could need.
    if let ForkResult::Parent { .. } = unsafe { fork() }? {
        return Ok(near);
    }
    drop(near);
    // The code of the caller must not continue in the copy, even after a panic.
    let done = catch_unwind(AssertUnwindSafe(|| {
        if prepare(name, parent, signal).is_ok() {
            work(far, parent);
        }
    }));
    // SAFETY: the call takes no pointers. It writes no buffered output, because the caller writes the same buffers.
    unsafe { libc::_exit(i32::from(done.is_err())) }
}

fn prepare(name: &CStr, parent: Pid, signal: Signal) -> nix::Result<()> {
    SigSet::all().thread_block()?;
    prctl::set_pdeathsig(signal)?;
    // If the parent ended before the call above, the kernel does not send the signal.
    if getppid() != parent {
        return Err(Errno::ESRCH);
    }
    prctl::set_name(name)
}

/// Closes all descriptors except the standard streams and `kept`.
fn close_all_but(mut kept: Vec<RawFd>) {
    kept.sort_unstable();
    let mut first = FIRST_OTHER;
    for next in kept.into_iter().chain([RawFd::MAX]) {
        if first < next {
            // SAFETY: the call takes no pointers. The copy never uses the closed descriptors, because it only does its
            // work and then ends without dropping values.
            unsafe { libc::syscall(libc::SYS_close_range, first, next - 1, 0) };
        }
        first = first.max(next.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::{Pid, getpid};

    use super::{start, start_survivor};
    use crate::WorkLines;

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
    fn a_survivor_keeps_only_its_descriptors_and_sees_the_end_of_its_caller() {
        let (mut closed, held) = UnixStream::pair().unwrap();
        let (mut report, kept) = UnixStream::pair().unwrap();
        let (mut go, gate) = UnixStream::pair().unwrap();
        let caller = thread::spawn(move || {
            let _line = start_survivor(c"survivor", &[kept.as_fd()], |end| {
                let own = getpid().as_raw().to_le_bytes();
                let _ = (&kept).write_all(&own);
                let mut lines = WorkLines::default();
                assert!(end.wait(&mut lines), "the system calls succeed");
                let _ = (&kept).write_all(b"x");
            })
            .unwrap();
            drop(kept);
            let _ = (&gate).read(&mut [0]);
        });
        let mut number = [0; 4];
        report.read_exact(&mut number).unwrap();
        drop(held);
        assert_eq!(
            closed.read(&mut [0]).unwrap(),
            0,
            "the survivor has no copy"
        );
        let survivor = Pid::from_raw(i32::from_le_bytes(number));
        let other = std::process::Command::new("kill")
            .args(["-USR1", &survivor.to_string()])
            .status();
        assert!(other.unwrap().success());
        report.set_nonblocking(true).unwrap();
        thread::sleep(std::time::Duration::from_millis(20));
        assert!(report.read(&mut [0]).is_err(), "its caller has not ended");
        report.set_nonblocking(false).unwrap();
        go.write_all(b"x").unwrap();
        caller.join().unwrap();
        let mut byte = [0];
        report.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn a_panic_ends_only_the_helper() {
        let mut helper = start(c"helper", |_| panic!("this panic is intended")).unwrap();
        assert_eq!(helper.read(&mut [0]).unwrap(), 0);
    }
}
