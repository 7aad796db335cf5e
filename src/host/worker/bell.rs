//! What the loop has to say to a worker's thread beside its work: wake up, and be done by then.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// How soon the thread has to be done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closing {
    /// There is no hurry.
    No,
    /// What runs may run until then.
    By(Instant),
    /// What runs is to be ended at once.
    Now,
}

/// Wakes a thread up, and says how soon it has to be done.
#[derive(Debug)]
pub struct Bell {
    event: EventFd,
    closing: Mutex<Closing>,
}

impl Bell {
    /// One that does not ring, and there is no hurry.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            event: EventFd::from_flags(flags)?,
            closing: Mutex::new(Closing::No),
        })
    }

    /// Wakes who waits for it.
    pub fn ring(&self) {
        // It cannot fail but for a bell that rings already.
        let _ = self.event.write(1);
    }

    /// Stops its ringing.
    pub fn silence(&self) {
        let _ = self.event.read();
    }

    pub(super) fn closing(&self) -> MutexGuard<'_, Closing> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When what may run until `until` is to end in view of the daemon's end.
    pub fn limit(&self, until: Instant, now: Instant) -> Instant {
        match *self.closing() {
            Closing::No => until,
            Closing::By(by) => until.min(by),
            Closing::Now => now,
        }
    }

    /// Whether what runs is to be ended at once.
    pub fn closes_now(&self) -> bool {
        matches!(*self.closing(), Closing::Now)
    }
}

impl AsFd for Bell {
    /// Readable while it rings.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
