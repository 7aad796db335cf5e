//! Passes work from the loop to a worker's thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::wait::Poller;

use super::bell::{Bell, Closing};
use super::inbox::Inbox;

/// Upper bound for the item in hand when the daemon ends, and for each item after it.
const FAREWELL: Duration = Duration::from_secs(2);

/// A queue of work, and a bell to wake the thread up. The loop never waits for it.
#[derive(Debug)]
pub struct Mailbox<Q> {
    shared: Mutex<Shared<Q>>,
    bell: Bell,
    /// The thread has found that there is nothing to do the work with, and has not looked again yet.
    rests: AtomicBool,
}

#[derive(Debug, Default)]
struct Shared<Q> {
    inbox: Q,
    /// The thread waits for the bell.
    attentive: bool,
}

impl<Q: Inbox> Mailbox<Q> {
    /// An empty mailbox.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            shared: Mutex::default(),
            bell: Bell::new()?,
            rests: AtomicBool::new(false),
        })
    }

    /// The bell, for work that waits for other descriptors as well.
    pub const fn bell(&self) -> &Bell {
        &self.bell
    }

    fn shared(&self) -> MutexGuard<'_, Shared<Q>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all items out of `work`. Returns `false`, and takes none, if the thread has the lock just now.
    pub(super) fn try_post(&self, work: &mut Q) -> bool {
        let mut shared = match self.shared.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread may hold the lock and have no CPU.
            Err(TryLockError::WouldBlock) => return false,
        };
        while let Some(item) = work.pop() {
            shared.inbox.push(item);
        }
        if std::mem::take(&mut shared.attentive) {
            drop(shared);
            self.bell.ring();
        }
        true
    }

    /// Takes the last items. The thread has to stop soon.
    pub(super) fn close(&self, last: &mut Q) {
        let mut shared = self.shared();
        while let Some(item) = last.pop() {
            shared.inbox.push(item);
        }
        shared.inbox.merge();
        *self.bell.closing() = Closing::By(Instant::now() + FAREWELL);
        drop(shared);
        self.bell.ring();
    }

    /// Drops all items, and has the thread end the one in hand.
    pub(super) fn close_now(&self) {
        let mut shared = self.shared();
        shared.inbox.clear();
        *self.bell.closing() = Closing::Now;
        drop(shared);
        self.bell.ring();
    }

    /// Waits for the next item; `None`: there will be none.
    pub fn next(&self, poller: &mut Poller) -> Option<Q::Item> {
        loop {
            {
                let mut shared = self.shared();
                let next = shared.inbox.pop();
                let mut closing = self.bell.closing();
                let closes = !matches!(*closing, Closing::No);
                if let (true, Closing::By(until)) = (next.is_some(), &mut *closing) {
                    *until = Instant::now() + FAREWELL;
                }
                if next.is_some() || closes {
                    return next;
                }
                shared.attentive = true;
            }
            self.wait(poller, None);
        }
    }

    /// There is nothing to do the work with: drops all items, and waits for `pause` or the end.
    pub fn rest(&self, poller: &mut Poller, pause: Duration) {
        let mut shared = self.shared();
        shared.inbox.clear();
        let closes = !matches!(*self.bell.closing(), Closing::No);
        drop(shared);
        if !closes {
            self.rests.store(true, Ordering::Relaxed);
            self.wait(poller, Some(pause));
            self.rests.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the thread [rests](Self::rest), so that posting is not urgent.
    pub(super) fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }

    fn wait(&self, poller: &mut Poller, timeout: Option<Duration>) {
        // A failure, which no healthy system shows, is no more than a wake-up.
        let _ = poller.wait(timeout);
        self.bell.silence();
    }
}
