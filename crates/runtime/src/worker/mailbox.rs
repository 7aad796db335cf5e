//! Passes work from the loop to a worker's thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::wait::Poller;

use super::bell::{StopRequest, WakeUp};
use super::inbox::Inbox;

/// Maximum time for the current item when the daemon ends, and for each item after it.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(2);

/// A queue of work, and a bell that wakes the thread. The loop never waits for it.
#[derive(Debug)]
pub struct Mailbox<Q> {
    shared: Mutex<Shared<Q>>,
    bell: WakeUp,
    /// Whether the thread pauses because it cannot do any work at the moment.
    is_resting: AtomicBool,
}

#[derive(Debug, Default)]
struct Shared<Q> {
    inbox: Q,
    /// Whether the thread waits for the bell.
    is_waiting: bool,
}

impl<Q: Inbox> Mailbox<Q> {
    /// Makes an empty mailbox.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            shared: Mutex::default(),
            bell: WakeUp::new()?,
            is_resting: AtomicBool::new(false),
        })
    }

    /// Returns the bell, for work that also waits for other descriptors.
    pub const fn bell(&self) -> &WakeUp {
        &self.bell
    }

    fn shared(&self) -> MutexGuard<'_, Shared<Q>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all items out of `work`. Returns `false` and moves none if the thread holds the lock.
    pub(super) fn try_post(&self, work: &mut Q) -> bool {
        let mut shared = match self.shared.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread may hold the lock while it does not get the CPU.
            Err(TryLockError::WouldBlock) => return false,
        };
        while let Some(item) = work.pop() {
            shared.inbox.push(item);
        }
        if std::mem::take(&mut shared.is_waiting) {
            drop(shared);
            self.bell.ring();
        }
        true
    }

    /// Adds the last items, and sets a time by which the thread must stop.
    pub(super) fn close(&self, last: &mut Q) {
        let mut shared = self.shared();
        while let Some(item) = last.pop() {
            shared.inbox.push(item);
        }
        shared.inbox.merge();
        *self.bell.stop_request() = StopRequest::By(Instant::now() + CLOSING_TIMEOUT);
        drop(shared);
        self.bell.ring();
    }

    /// Drops all items, and makes the thread end the current one.
    pub(super) fn close_now(&self) {
        let mut shared = self.shared();
        shared.inbox.clear();
        *self.bell.stop_request() = StopRequest::Now;
        drop(shared);
        self.bell.ring();
    }

    /// Waits for the next item; `None`: no more will come.
    pub fn next(&self, poller: &mut Poller) -> Option<Q::Item> {
        loop {
            {
                let mut shared = self.shared();
                let next = shared.inbox.pop();
                let mut stop_request = self.bell.stop_request();
                let closes = !matches!(*stop_request, StopRequest::No);
                if let (true, StopRequest::By(until)) = (next.is_some(), &mut *stop_request) {
                    *until = Instant::now() + CLOSING_TIMEOUT;
                }
                if next.is_some() || closes {
                    return next;
                }
                shared.is_waiting = true;
            }
            self.wait(poller, None);
        }
    }

    /// Drops all items because they cannot be done at the moment, and waits for `pause` or the end.
    pub fn rest(&self, poller: &mut Poller, pause: Duration) {
        let mut shared = self.shared();
        shared.inbox.clear();
        let closes = !matches!(*self.bell.stop_request(), StopRequest::No);
        drop(shared);
        if !closes {
            self.is_resting.store(true, Ordering::Relaxed);
            self.wait(poller, Some(pause));
            self.is_resting.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the thread [rests](Self::rest), so that posting is not urgent.
    pub(super) fn is_resting(&self) -> bool {
        self.is_resting.load(Ordering::Relaxed)
    }

    fn wait(&self, poller: &mut Poller, timeout: Option<Duration>) {
        // Waiting does not fail on a healthy system. A failure counts as a wake-up.
        let _ = poller.wait(timeout);
        self.bell.silence();
    }
}
