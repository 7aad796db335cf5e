//! Signals from the loop to a worker's thread: wake up, and stop by a deadline.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// How soon the thread has to stop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closing {
    /// There is no hurry.
    No,
    /// The work in hand may go on until then.
    By(Instant),
    /// End the work in hand at once.
    Now,
}

/// Wakes a thread up, and tells it how soon it has to stop.
#[derive(Debug)]
pub struct Bell {
    event: EventFd,
    closing: Mutex<Closing>,
    /// The number of the work in hand, if it has one.
    in_hand: AtomicU64,
    /// All work before this number was cancelled.
    cancelled: AtomicU64,
}

impl Bell {
    /// A silent bell, without a hurry.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            event: EventFd::from_flags(flags)?,
            closing: Mutex::new(Closing::No),
            in_hand: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        })
    }

    /// Wakes the thread that waits for it.
    pub fn ring(&self) {
        // It fails only if the bell rings already.
        let _ = self.event.write(1);
    }

    /// Stops the ringing.
    pub fn silence(&self) {
        let _ = self.event.read();
    }

    pub(super) fn closing(&self) -> MutexGuard<'_, Closing> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread begins the work of this number.
    pub fn begin(&self, number: u64) {
        self.in_hand.store(number, Ordering::Relaxed);
    }

    /// Cancels all work before this number, and wakes the thread.
    pub fn cancel_before(&self, number: u64) {
        self.cancelled.store(number, Ordering::Relaxed);
        // The thread sees what was stored before it hears the bell.
        self.ring();
    }

    /// Whether the work in hand was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.in_hand.load(Ordering::Relaxed) < self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns when work that may run until `until` must stop, given that it may have been cancelled, and the
    /// daemon's end.
    pub fn limit(&self, until: Instant, now: Instant) -> Instant {
        if self.is_cancelled() {
            return now;
        }
        match *self.closing() {
            Closing::No => until,
            Closing::By(by) => until.min(by),
            Closing::Now => now,
        }
    }

    /// Whether the work in hand must end at once, without a moment to end by itself.
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
