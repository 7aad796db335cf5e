//! Waiting for many things at once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

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
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Nothing => epoll::EventFlags::empty(),
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
            Self::ReadWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
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

impl From<&epoll::Event> for Ready {
    fn from(event: &epoll::Event) -> Self {
        let (flags, data) = (event.flags, event.data);
        let hangup = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        Self {
            key: data.u64(),
            readable: flags.contains(epoll::EventFlags::IN) || hangup,
            writable: flags.contains(epoll::EventFlags::OUT),
            hangup,
        }
    }
}

/// Waits for file descriptors and for time to pass, to the nanosecond.
///
/// Level-triggered: what was not read to the end is reported again. Waiting allocates nothing.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ready: Vec<Ready>,
}

impl Poller {
    /// A poller with nothing to wait for.
    ///
    /// # Errors
    /// The process has too many files open, or the kernel is older than 5.11.
    pub fn new() -> io::Result<Self> {
        let mut poller = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            ready: Vec::with_capacity(EVENTS),
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
        let key = epoll::EventData::new_u64(key);
        Ok(epoll::add(&self.epoll, fd, key, interest.flags())?)
    }

    /// Waits for something else on `fd`, or reports it with another key.
    ///
    /// # Errors
    /// `fd` was not added.
    pub fn modify(&self, fd: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        let key = epoll::EventData::new_u64(key);
        Ok(epoll::modify(&self.epoll, fd, key, interest.flags())?)
    }

    /// Waits for `fd` no more.
    ///
    /// # Errors
    /// `fd` was not added.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits until something is [`ready`](Self::ready), but no longer than `timeout`; `None`: for
    /// ever. A signal ends it early, with nothing ready.
    ///
    /// # Errors
    /// The kernel is older than 5.11.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.ready.clear();
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
            Ok((events, _)) => self.ready.extend(events.iter().map(Ready::from)),
            Err(Errno::INTR) => {}
            Err(Errno::NOSYS) => {
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
        self.ready.iter().copied()
    }
}

impl AsFd for Poller {
    /// Readable while anything is ready: one poller can wait for another.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
#[path = "poller_tests.rs"]
mod tests;
