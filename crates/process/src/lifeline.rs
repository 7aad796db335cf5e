//! A line between two processes: when one of them ends, in whatever way, the kernel signals what the
//! other has tied to the line. Nobody has to run for that: all of them may be stopped.
#![allow(
    unsafe_code,
    reason = "no library has the call by which a descriptor is tied to a process or its group"
)]

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rustix::net::sockopt::socket_domain;
use rustix::net::{AddressFamily, Shutdown, shutdown};

use crate::handed;

/// Who is signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tied {
    /// A process.
    Process(Pid),
    /// All processes of a group.
    Group(Pid),
}

/// The end of the line that something is tied to.
#[derive(Debug)]
pub struct Lifeline(UnixStream);

impl Lifeline {
    /// A line, and its other end, to which nothing is to be written.
    ///
    /// Where one process alone has both ends, the other one goes first as it ends: the kernel closes the
    /// highest descriptor first.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let (line, end) = UnixStream::pair()?;
        Ok((Self(line), end.into()))
    }

    /// Lets processes that are started from now on have this end as well: the line is there as long
    /// as one of them is, be this process killed.
    ///
    /// # Errors
    /// None while the descriptor is open.
    pub fn bequeath(&self) -> io::Result<()> {
        fcntl(&self.0, FcntlArg::F_SETFD(FdFlag::empty()))?;
        Ok(())
    }

    /// Has somebody signalled as soon as the other end is closed.
    ///
    /// # Errors
    /// The other end is closed already, nobody is there, or the kernel refused it.
    pub fn tie(&self, whom: Tied, signal: Signal) -> io::Result<()> {
        let owner = match whom {
            Tied::Process(pid) => pid.as_raw(),
            Tied::Group(leader) => -leader.as_raw(),
        };
        for (setting, value) in [(libc::F_SETOWN, owner), (F_SETSIG, signal as libc::c_int)] {
            // SAFETY: both settings take an integer, and the descriptor is open.
            Errno::result(unsafe { libc::fcntl(self.0.as_raw_fd(), setting, value) })?;
        }
        fcntl(
            &self.0,
            FcntlArg::F_SETFL(OFlag::O_ASYNC | OFlag::O_NONBLOCK),
        )?;
        // What was closed before that is told to nobody.
        match (&self.0).read(&mut [0]) {
            Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// No process is signalled from now on, whoever else has this end.
    pub fn untie(&self) {
        // The kernel refuses this of no socket.
        let _ = fcntl(&self.0, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
    }
}

impl AsFd for Lifeline {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A line that a user has tied, and that is kept open for them. Who drops it does not wait for what they may
/// have sent over it.
#[derive(Debug)]
pub struct KeptLine {
    /// `Some` until this is dropped.
    line: Option<OwnedFd>,
    uid: u32,
}

impl KeptLine {
    /// Keeps it open for that user.
    ///
    /// # Errors
    /// The descriptor, if it is no Unix socket.
    pub fn new(descriptor: OwnedFd, uid: u32) -> Result<Self, OwnedFd> {
        match socket_domain(&descriptor) {
            Ok(AddressFamily::UNIX) => Ok(Self {
                line: Some(descriptor),
                uid,
            }),
            _ => Err(descriptor),
        }
    }

    /// Lets go of it; who is tied to it is not signalled from now on.
    pub fn untie(self) {
        if let Some(line) = &self.line {
            let flags = fcntl(line, FcntlArg::F_GETFL).map_or(OFlag::O_NONBLOCK, |flags| {
                OFlag::from_bits_truncate(flags).difference(OFlag::O_ASYNC)
            });
            // The kernel refuses this of no socket.
            let _ = fcntl(line, FcntlArg::F_SETFL(flags));
        }
    }

    /// Has what is tied to its other end signalled, whoever else has either end.
    pub fn pull(&self) {
        if let Some(line) = &self.line {
            // Of a socket that is connected to nothing there is nobody to be signalled.
            let _ = shutdown(line, Shutdown::Both);
        }
    }

    /// Whether its other end is closed, and so who is tied to it was signalled.
    pub fn is_over(&self) -> bool {
        self.line.as_ref().is_none_or(|line| {
            let mut ended = [PollFd::new(line.as_fd(), PollFlags::empty())];
            poll(&mut ended, PollTimeout::ZERO).is_ok_and(|ended| ended > 0)
        })
    }
}

impl Drop for KeptLine {
    fn drop(&mut self) {
        handed::close(self.uid, self.line.take());
    }
}

/// Linux's number for the call that chooses the signal.
const F_SETSIG: libc::c_int = 10;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    use nix::sys::signal::Signal;
    use nix::unistd::Pid;

    use super::{KeptLine, Lifeline, Tied};

    fn sleeper() -> (Child, Pid) {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn();
        let child = child.expect("a sleeper");
        let pid = Pid::from_raw(child.id().cast_signed());
        (child, pid)
    }

    fn signal_that_ended(mut child: Child) -> Option<i32> {
        child.wait().expect("it is our child").signal()
    }

    #[test]
    fn who_is_tied_is_signalled_when_the_other_end_is_closed_whoever_has_this_one() {
        for (tied, signal) in [
            (Tied::Process as fn(Pid) -> Tied, Signal::SIGTERM),
            (Tied::Group, Signal::SIGKILL),
        ] {
            let (child, pid) = sleeper();
            let (line, end) = Lifeline::new().expect("a line");
            line.tie(tied(pid), signal).expect("tied");
            let kept = KeptLine::new(line.0.into(), 0).expect("it is a socket");
            assert!(!kept.is_over());
            drop(end);
            assert!(kept.is_over());
            assert_eq!(signal_that_ended(child), Some(signal as i32));
        }
    }

    #[test]
    fn who_is_tied_is_signalled_when_the_other_end_is_pulled_whoever_has_both() {
        let (child, pid) = sleeper();
        let (line, end) = Lifeline::new().expect("a line");
        line.tie(Tied::Group(pid), Signal::SIGKILL).expect("tied");
        let handed_over = end.try_clone().expect("a copy");
        let kept = KeptLine::new(handed_over, 0).expect("it is a socket");
        kept.pull();
        assert_eq!(signal_that_ended(child), Some(Signal::SIGKILL as i32));
    }

    #[test]
    fn who_is_untied_is_left_alone() {
        let (mut child, pid) = sleeper();
        let (line, end) = Lifeline::new().expect("a line");
        line.tie(Tied::Process(pid), Signal::SIGTERM).expect("tied");
        line.untie();
        drop(end);
        child.kill().expect("it is our child");
        assert_eq!(signal_that_ended(child), Some(Signal::SIGKILL as i32));
    }

    #[test]
    fn what_is_no_line_is_not_kept() {
        let file = File::open("/dev/null").expect("it is there");
        assert!(KeptLine::new(file.into(), 0).is_err());
    }
}
