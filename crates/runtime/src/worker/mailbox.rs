//! Passes work from the loop to a worker's thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::wait::Poller;

use super::bell::{StopRequest, WakeUp};
use super::inbox::Inbox;

/// Maximum time for each remaining item when the daemon ends, including the current item.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(2);

/// A queue of work, and a bell that wakes the thread. The loop never waits for the thread.
#[derive(Debug)]
pub struct Mailbox<Q> {
    shared: Mutex<MailboxState<Q>>,
    bell: WakeUp,
    /// Whether the thread [rests](Self::rest), because it cannot do any work at the moment.
    is_resting: AtomicBool,
}

#[derive(Debug, Default)]
struct MailboxState<Q> {
    inbox: Q,
    /// Whether the thread waits for the bell.
    is_waiting: bool,
}

impl<Q: Inbox> Mailbox<Q> {
    /// Makes an empty mailbox.
    ///
    /// # Errors
    /// Fails if the process has too many files open.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            shared: Mutex::default(),
            bell: WakeUp::new()?,
            is_resting: AtomicBool::new(false),
        })
    }

    /// Returns the bell. Work that waits for other descriptors must also wait for the bell.
    pub const fn bell(&self) -> &WakeUp {
        &self.bell
    }

    fn lock_state(&self) -> MutexGuard<'_, MailboxState<Q>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all items from `work` into the mailbox. If the thread holds the lock, moves no item and returns `false`.
    pub(super) fn try_post(&self, work: &mut Q) -> bool {
        let mut shared = match self.shared.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The loop must not wait for the lock: the thread that holds it may not get the CPU for a long time.
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

    /// Adds the last items and sets a time by which the thread must stop.
    pub(super) fn close(&self, last: &mut Q) {
        let mut shared = self.lock_state();
        while let Some(item) = last.pop() {
            shared.inbox.push(item);
        }
        shared.inbox.merge();
        *self.bell.stop_request() = StopRequest::By(Instant::now() + CLOSING_TIMEOUT);
        drop(shared);
        self.bell.ring();
    }

    /// Drops all items and makes the thread end the current item.
    pub(super) fn close_now(&self) {
        let mut shared = self.lock_state();
        shared.inbox.clear();
        *self.bell.stop_request() = StopRequest::Now;
        drop(shared);
        self.bell.ring();
    }

    /// Waits for the next item and returns it; `None` if no more items will arrive.
    pub fn next(&self, poller: &mut Poller) -> Option<Q::Item> {
        loop {
            {
                let mut shared = self.lock_state();
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

    /// Drops all items, because the thread cannot do them at the moment. Then waits until the time `pause` has passed
    /// or the bell rings.
    pub fn rest(&self, poller: &mut Poller, pause: Duration) {
        let mut shared = self.lock_state();
        shared.inbox.clear();
        let closes = !matches!(*self.bell.stop_request(), StopRequest::No);
        drop(shared);
        if !closes {
            self.is_resting.store(true, Ordering::Relaxed);
            self.wait(poller, Some(pause));
            self.is_resting.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the thread [rests](Self::rest), so that new items are not urgent.
    pub(super) fn is_resting(&self) -> bool {
        self.is_resting.load(Ordering::Relaxed)
    }

    fn wait(&self, poller: &mut Poller, timeout: Option<Duration>) {
        // The wait does not fail on a healthy system. A failure counts as a wake-up.
        let _ = poller.wait(timeout);
        self.bell.silence();
    }
}
