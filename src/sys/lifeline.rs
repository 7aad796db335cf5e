//! A line between two processes: when one of them ends, in whatever way, the kernel kills what the
//! other has tied to the line. Nobody has to run for that: all of them may be stopped.
#![allow(
    unsafe_code,
    reason = "no library has the calls by which a descriptor is tied to a process group"
)]

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::unistd::Pid;

/// This process's end of the line.
#[derive(Debug)]
pub struct Lifeline(UnixStream);

impl Lifeline {
    /// A line, and the end of it that another process is to have and to write nothing to.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let (ours, its) = UnixStream::pair()?;
        Ok((Self(ours), its.into()))
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

    /// Has a process group killed as soon as the other end is closed.
    ///
    /// # Errors
    /// The other end is closed already, or the kernel refused it.
    pub fn tie(&self, group: Pid) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: both calls take integers, of a descriptor that is open.
        Errno::result(unsafe { libc::fcntl(fd, libc::F_SETOWN, -group.as_raw()) })?;
        // SAFETY: as above.
        Errno::result(unsafe { libc::fcntl(fd, F_SETSIG, libc::SIGKILL) })?;
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
}

/// Linux's number for the call that chooses the signal.
const F_SETSIG: libc::c_int = 10;
