//! Waits for several descriptors at once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

/// Maximum number of descriptors that one wait reports. The next wait reports the other ready descriptors.
const READY_MAX: usize = 64;

/// The events for which a poller waits on a descriptor. Hang-ups and errors are always included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Only hang-ups and errors.
    Nothing,
    /// The descriptor is readable.
    Read,
    /// The descriptor is writable.
    Write,
    /// The descriptor is readable or writable.
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

/// A descriptor that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyDescriptor {
    /// Key with which the descriptor was added.
    pub key: u64,
    /// Whether there are data, an end or an error to read.
    pub readable: bool,
    /// Whether the descriptor is writable.
    pub writable: bool,
    /// Whether the peer closed its end, or the descriptor has an error to report.
    pub hangup: bool,
}

impl From<&epoll::Event> for ReadyDescriptor {
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

/// A poller waits for descriptors, or for a timeout in nanoseconds.
///
/// The poller is level-triggered: it reports a descriptor again if the descriptor was not read to the end. A wait
/// allocates no memory.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ready: Vec<ReadyDescriptor>,
}

impl Poller {
    /// Makes a poller without descriptors.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or if the kernel is older than 5.11.
    pub fn new() -> io::Result<Self> {
        let mut poller = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            ready: Vec::with_capacity(READY_MAX),
        };
        // On an old kernel, this wait fails, so that the program fails at its start instead of in the loop.
        poller.wait(Some(Duration::ZERO))?;
        Ok(poller)
    }

    /// Adds `fd` to the descriptors for which the poller waits. When an event of `interest` occurs, the poller reports
    /// `key`. Closing `fd` removes it.
    ///
    /// # Errors
    /// Fails if `fd` was added before, or if the kernel cannot wait for such a descriptor.
    pub fn add(&self, fd: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        let key = epoll::EventData::new_u64(key);
        Ok(epoll::add(&self.epoll, fd, key, interest.flags())?)
    }

    /// Changes the interest or the key of `fd`.
    ///
    /// # Errors
    /// Fails if `fd` was not added.
    pub fn modify(&self, fd: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        let key = epoll::EventData::new_u64(key);
        Ok(epoll::modify(&self.epoll, fd, key, interest.flags())?)
    }

    /// Removes `fd` from the descriptors for which the poller waits.
    ///
    /// # Errors
    /// Fails if `fd` was not added.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits until a descriptor is [`ready`](Self::ready), but at most for `timeout`. If the timeout is `None`, there
    /// is no limit. A signal ends the wait early, with no ready descriptor.
    ///
    /// # Errors
    /// Fails if the kernel is older than 5.11.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.ready.clear();
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut room = [const { MaybeUninit::uninit() }; READY_MAX];
        match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
            Ok((events, _)) => self.ready.extend(events.iter().map(ReadyDescriptor::from)),
            Err(Errno::INTR) => {}
            Err(Errno::NOSYS) => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this kernel has no epoll_pwait2; install Linux 5.11 or later",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Returns the descriptors that the last [`wait`](Self::wait) found ready.
    pub fn ready(&self) -> impl ExactSizeIterator<Item = ReadyDescriptor> {
        self.ready.iter().copied()
    }
}

impl AsFd for Poller {
    /// The descriptor is readable while any descriptor of this poller is ready, so one poller can wait for another.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
#[path = "poller_tests.rs"]
mod tests;
