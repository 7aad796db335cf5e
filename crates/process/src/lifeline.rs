//! A life line: a pair of connected sockets. When a process ends, its end of the line closes. Then the kernel signals
//! the process that is tied to the other end. The kernel does this even if all other processes are stopped.
#![allow(
    unsafe_code,
    reason = "no library offers the call that ties a descriptor to a process or its group"
)]

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rustix::io::ioctl_fionread;
use rustix::net::sockopt::socket_domain;
use rustix::net::{AddressFamily, SendFlags, Shutdown, send, shutdown};

use crate::passed_descriptors;

/// The target of the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalTarget {
    /// One process.
    Process(Pid),
    /// All processes of a group.
    Group(Pid),
}

/// The byte that reports the end of the work.
const END_REPORT: u8 = 1;

/// The end of a life line to which the target is tied.
#[derive(Debug)]
pub struct Lifeline(UnixStream);

impl Lifeline {
    /// Creates a line. Returns the end for the target, and the opposite end. Only [`report_end`](Self::report_end) may
    /// write to the opposite end.
    ///
    /// One process may have both ends. When such a process ends, the kernel closes the opposite end first, because it
    /// closes the highest descriptor first.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let (line, end) = UnixStream::pair()?;
        Ok((Self(line), end.into()))
    }

    /// Makes processes that start after this call inherit this end. The end then stays open until the last of these
    /// processes has ended, even if this process is killed.
    ///
    /// # Errors
    /// Never fails while the descriptor is open.
    pub fn make_inheritable(&self) -> io::Result<()> {
        fcntl(&self.0, FcntlArg::F_SETFD(FdFlag::empty()))?;
        Ok(())
    }

    /// Ties a target to this end. When the opposite end closes, the kernel signals the target.
    ///
    /// # Errors
    /// Fails if the other end is closed already, if the target does not exist, or if the kernel refuses.
    pub fn tie(&self, target: SignalTarget, signal: Signal) -> io::Result<()> {
        let owner = match target {
            SignalTarget::Process(pid) => pid.as_raw(),
            SignalTarget::Group(leader) => -leader.as_raw(),
        };
        for (setting, value) in [(libc::F_SETOWN, owner), (F_SETSIG, signal as libc::c_int)] {
            // SAFETY: both settings take an integer, and the descriptor is open.
            Errno::result(unsafe { libc::fcntl(self.0.as_raw_fd(), setting, value) })?;
        }
        fcntl(
            &self.0,
            FcntlArg::F_SETFL(OFlag::O_ASYNC | OFlag::O_NONBLOCK),
        )?;
        // If the other end was closed before the call, the kernel sends no signal.
        match (&self.0).read(&mut [0]) {
            Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reports over the opposite end that all work of the target has ended. Also [unties](Self::untie) the target,
    /// because the kernel would signal it.
    pub fn report_end(&self, opposite: &impl AsFd) {
        self.untie();
        // The report fails only if no process has the other end. Then no process needs it.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = send(opposite, &[END_REPORT], flags);
    }

    /// Unties the target from this end. After this call, the kernel sends no signal to the target, even if another
    /// process holds this end.
    pub fn untie(&self) {
        // This call cannot fail for a socket.
        let _ = fcntl(&self.0, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
    }
}

impl AsFd for Lifeline {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// One end of a life line that this process keeps open for a user. The user tied a target to the opposite end. If the
/// user sent descriptors over the line, the kernel closes them together with this end. Dropping this value does not
/// wait for the close.
#[derive(Debug)]
pub struct KeptLine {
    line: Option<OwnedFd>,
    uid: u32,
}

impl KeptLine {
    /// Keeps a line open for a user.
    ///
    /// # Errors
    /// Returns the descriptor if it is not a Unix socket.
    pub fn new(descriptor: OwnedFd, uid: u32) -> Result<Self, OwnedFd> {
        match socket_domain(&descriptor) {
            Ok(AddressFamily::UNIX) => Ok(Self {
                line: Some(descriptor),
                uid,
            }),
            _ => Err(descriptor),
        }
    }

    /// Closes the line without a signal to its target.
    pub fn untie(self) {
        if let Some(line) = &self.line {
            let flags = fcntl(line, FcntlArg::F_GETFL).map_or(OFlag::O_NONBLOCK, |flags| {
                OFlag::from_bits_truncate(flags).difference(OFlag::O_ASYNC)
            });
            // This call cannot fail for a socket.
            let _ = fcntl(line, FcntlArg::F_SETFL(flags));
        }
    }

    /// Makes the kernel signal the target at the opposite end. The signal also arrives if other processes have copies
    /// of the two ends.
    pub fn signal_target(&self) {
        if let Some(line) = &self.line {
            // A socket without a connection has no target to signal.
            let _ = shutdown(line, Shutdown::Both);
        }
    }

    /// Waits at most until `deadline` for the report that all work of the target has ended. Returns whether it came.
    /// The close of the opposite end is no report.
    pub fn wait_for_end_report(&self, deadline: Instant) -> bool {
        let Some(line) = &self.line else {
            return false;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let mut readable = [PollFd::new(line.as_fd(), PollFlags::POLLIN)];
        // A report that has come counts even after the deadline.
        let _ = poll(
            &mut readable,
            PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO),
        );
        // A read could wait for another process that reads from this socket, and would close descriptors that came with
        // the byte.
        ioctl_fionread(line) == Ok(1)
    }

    /// Returns the descriptor of this end.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().map(AsFd::as_fd)
    }

    /// Whether the opposite end is closed. If the opposite end is closed, the kernel has already signaled the target.
    pub fn is_closed(&self) -> bool {
        self.line.as_ref().is_none_or(|line| {
            let mut ended = [PollFd::new(line.as_fd(), PollFlags::empty())];
            poll(&mut ended, PollTimeout::ZERO).is_ok_and(|ended| ended > 0)
        })
    }
}

impl Drop for KeptLine {
    fn drop(&mut self) {
        passed_descriptors::close(self.uid, self.line.take());
    }
}

/// The number of Linux's `fcntl` command that selects the signal.
const F_SETSIG: libc::c_int = 10;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::time::Instant;

    use nix::sys::signal::Signal;
    use nix::unistd::Pid;

    use super::{KeptLine, Lifeline, SignalTarget};
    use crate::test_processes::{signal_that_ended, sleeper};

    #[test]
    fn a_target_is_signaled_when_the_other_end_closes() {
        for (tied, signal) in [
            (
                SignalTarget::Process as fn(Pid) -> SignalTarget,
                Signal::SIGTERM,
            ),
            (SignalTarget::Group, Signal::SIGKILL),
        ] {
            let (child, pid) = sleeper();
            let (line, end) = Lifeline::new().expect("a line");
            line.tie(tied(pid), signal).expect("tied");
            let kept = KeptLine::new(line.0.into(), 0).expect("it is a socket");
            assert!(!kept.is_closed());
            drop(end);
            assert!(kept.is_closed());
            assert_eq!(signal_that_ended(child), Some(signal as i32));
        }
    }

    #[test]
    fn a_target_is_signaled_when_the_line_is_shut_down() {
        let (child, pid) = sleeper();
        let (line, end) = Lifeline::new().expect("a line");
        line.tie(SignalTarget::Group(pid), Signal::SIGKILL)
            .expect("tied");
        let handed_over = end.try_clone().expect("a copy");
        let kept = KeptLine::new(handed_over, 0).expect("it is a socket");
        kept.signal_target();
        assert_eq!(signal_that_ended(child), Some(Signal::SIGKILL as i32));
    }

    #[test]
    fn an_untied_target_is_not_signaled() {
        let (mut child, pid) = sleeper();
        let (line, end) = Lifeline::new().expect("a line");
        line.tie(SignalTarget::Process(pid), Signal::SIGTERM)
            .expect("tied");
        line.untie();
        drop(end);
        child.kill().expect("it is our child");
        assert_eq!(signal_that_ended(child), Some(Signal::SIGKILL as i32));
    }

    #[test]
    fn only_a_report_shows_the_end_of_the_work_and_it_signals_no_target() {
        let now = Instant::now();
        for reports in [false, true] {
            let (mut child, pid) = sleeper();
            let (line, end) = Lifeline::new().expect("a line");
            line.tie(SignalTarget::Process(pid), Signal::SIGTERM)
                .expect("tied");
            let copy = line.as_fd().try_clone_to_owned().expect("a copy");
            let kept = KeptLine::new(copy, 0).expect("it is a socket");
            assert!(!kept.wait_for_end_report(now));
            if reports {
                line.report_end(&end);
            }
            drop((line, end));
            assert_eq!(kept.wait_for_end_report(now), reports);
            let signal = if reports {
                child.kill().expect("it is our child");
                Signal::SIGKILL
            } else {
                Signal::SIGTERM
            };
            assert_eq!(signal_that_ended(child), Some(signal as i32));
        }
    }

    #[test]
    fn another_descriptor_is_refused() {
        let file = File::open("/dev/null").expect("it is there");
        assert!(KeptLine::new(file.into(), 0).is_err());
    }
}
