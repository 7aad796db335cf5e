//! Bells, with which the loop signals the thread of a worker. A bell can wake the thread, cancel its work, or set a
//! time by which the thread must stop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The time by which a thread must stop.
#[derive(Debug, Clone, Copy)]
pub(super) enum StopRequest {
    No,
    /// The thread may continue its current work until this time.
    By(Instant),
    /// The thread must stop its current work at once.
    Now,
}

/// A bell that wakes a thread. The bell also contains the time by which the thread must stop.
#[derive(Debug)]
pub struct WakeUp {
    event: EventFd,
    stop_request: Mutex<StopRequest>,
    /// Number of the current work, if it has a number.
    current_work: AtomicU64,
    /// All work with a lower number is cancelled.
    cancelled_below: AtomicU64,
}

impl WakeUp {
    /// Makes a bell that is silent and sets no time to stop.
    ///
    /// # Errors
    /// Fails if the process has too many files open.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            event: EventFd::from_flags(flags)?,
            stop_request: Mutex::new(StopRequest::No),
            current_work: AtomicU64::new(0),
            cancelled_below: AtomicU64::new(0),
        })
    }

    /// Wakes the waiting thread.
    pub fn ring(&self) {
        // A write fails only if the bell already rings.
        let _ = self.event.write(1);
    }

    /// Makes the bell stop ringing.
    pub fn silence(&self) {
        let _ = self.event.read();
    }

    pub(super) fn stop_request(&self) -> MutexGuard<'_, StopRequest> {
        self.stop_request
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the thread begins the work with this number.
    pub fn begin(&self, number: u64) {
        self.current_work.store(number, Ordering::Relaxed);
    }

    /// Cancels all work with a lower number, and wakes the thread.
    pub fn cancel_before(&self, number: u64) {
        self.cancelled_below.store(number, Ordering::Relaxed);
        // The bell rings after the store, because the write to the descriptor makes the stored number visible to the
        // thread.
        self.ring();
    }

    /// Whether the current work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.current_work.load(Ordering::Relaxed) < self.cancelled_below.load(Ordering::Relaxed)
    }

    /// Returns the time at which the current work must stop: normally `until`. The time is earlier if the work was
    /// cancelled, or if the daemon ends.
    pub fn limit(&self, until: Instant, now: Instant) -> Instant {
        if self.is_cancelled() {
            return now;
        }
        match *self.stop_request() {
            StopRequest::No => until,
            StopRequest::By(by) => until.min(by),
            StopRequest::Now => now,
        }
    }

    /// Whether the current work must end at once, without time for an orderly end.
    pub fn must_stop_now(&self) -> bool {
        matches!(*self.stop_request(), StopRequest::Now)
    }
}

impl AsFd for WakeUp {
    /// The descriptor is readable while the bell rings.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
