//! Waiting for many things at once.
#![allow(
    unsafe_code,
    reason = "nix has no epoll_pwait2, and its epoll_wait counts in milliseconds"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

/// The most things that one wait reports; the others are reported by the next.
const EVENTS: usize = 64;

/// What to wait for on a file descriptor. Hang-ups and errors are always waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Hang-ups and errors only.
    Nothing,
    /// Something to read.
    Read,
    /// Room to write.
    Write,
    /// Either.
    ReadWrite,
}

impl Interest {
    fn event(self, key: u64) -> EpollEvent {
        let flags = match self {
            Self::Nothing => EpollFlags::empty(),
            Self::Read => EpollFlags::EPOLLIN,
            Self::Write => EpollFlags::EPOLLOUT,
            Self::ReadWrite => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
        };
        EpollEvent::new(flags, key)
    }
}

/// A file descriptor that one has waited for is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The key that it was added with.
    pub key: u64,
    /// There is something to read, be it an end or an error.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The peer is gone, or the descriptor has an error to report.
    pub hangup: bool,
}

impl From<&EpollEvent> for Ready {
    fn from(event: &EpollEvent) -> Self {
        let flags = event.events();
        let hangup = flags.intersects(EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR);
        Self {
            key: event.data(),
            readable: flags.contains(EpollFlags::EPOLLIN) || hangup,
            writable: flags.contains(EpollFlags::EPOLLOUT),
            hangup,
        }
    }
}

/// Waits for file descriptors and for time to pass, to the nanosecond.
///
/// Level-triggered: what was not read to the end is reported again. Waiting allocates nothing.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    events: Box<[EpollEvent; EVENTS]>,
    ready: usize,
}

impl Poller {
    /// A poller with nothing to wait for.
    ///
    /// # Errors
    /// The process has too many files open, or the kernel is older than 5.11.
    pub fn new() -> io::Result<Self> {
        let mut poller = Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            events: Box::new([EpollEvent::empty(); EVENTS]),
            ready: 0,
        };
        // An old kernel is to be found out at the start, not in the loop.
        poller.wait(Some(Duration::ZERO))?;
        Ok(poller)
    }

    /// Waits for `interest` on `fd` from now on, and reports it with `key`. Closing the
    /// descriptor ends it.
    ///
    /// # Errors
    /// `fd` was added before, or is nothing that can be waited for.
    pub fn add(&self, fd: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.add(fd, interest.event(key))?)
    }

    /// Waits for something else on `fd`, or reports it with another key.
    ///
    /// # Errors
    /// `fd` was not added.
    pub fn modify(&self, fd: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.modify(fd, &mut interest.event(key))?)
    }

    /// Waits for `fd` no more.
    ///
    /// # Errors
    /// `fd` was not added.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(fd)?)
    }

    /// Waits until something is [`ready`](Self::ready), but no longer than `timeout`; `None`: for
    /// ever. A signal ends it early, with nothing ready.
    ///
    /// # Errors
    /// The kernel is older than 5.11.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.ready = 0;
        match epoll_pwait2(&self.epoll, &mut self.events[..], timeout) {
            Ok(ready) => self.ready = ready,
            Err(Errno::EINTR) => {}
            Err(Errno::ENOSYS) => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this kernel has no epoll_pwait2: Linux 5.11 or newer is needed",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// What the last [`wait`](Self::wait) found ready.
    pub fn ready(&self) -> impl ExactSizeIterator<Item = Ready> {
        self.events[..self.ready].iter().map(Ready::from)
    }
}

impl AsFd for Poller {
    /// Readable while anything is ready: one poller can wait for another.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

/// The kernel's `struct __kernel_timespec`, 64 bits wide on every architecture.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// The system call itself: libraries of C older than the call have no function for it.
fn epoll_pwait2(
    epoll: &Epoll,
    events: &mut [EpollEvent],
    timeout: Option<Duration>,
) -> nix::Result<usize> {
    let timeout = timeout.map(|timeout| Timespec {
        seconds: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: i64::from(timeout.subsec_nanos()),
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `events` is writable for its length, and `EpollEvent` is a transparent
    // `epoll_event`; `timeout` is null or points to a live value of the kernel's layout; a null
    // signal mask is not read.
    let ready = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr(),
            events.len(),
            timeout,
            ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    // Never negative past the check.
    Errno::result(ready).map(|ready| usize::try_from(ready).unwrap_or(0))
}

#[cfg(test)]
#[path = "poller_tests.rs"]
mod tests;
