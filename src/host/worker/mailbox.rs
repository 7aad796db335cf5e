//! Where the loop leaves work for a worker's thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::bell::{Bell, Closing};
use super::inbox::Inbox;
use crate::sys::Poller;

/// How long what runs when the daemon ends may take until its end, and then how long each of those that
/// follow may take in all.
const FAREWELL: Duration = Duration::from_secs(2);

/// Work, and a bell to wake the thread up. The loop never waits for it.
#[derive(Debug)]
pub struct Mailbox<Q> {
    shared: Mutex<Shared<Q>>,
    bell: Bell,
    /// There was nobody to do the work when the thread looked last, and it is not looking again yet.
    rests: AtomicBool,
}

#[derive(Debug, Default)]
struct Shared<Q> {
    inbox: Q,
    /// The thread waits to be woken up.
    attentive: bool,
}

impl<Q: Inbox> Mailbox<Q> {
    /// An empty one.
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

    /// The bell, for work that waits for something else as well.
    pub const fn bell(&self) -> &Bell {
        &self.bell
    }

    fn shared(&self) -> MutexGuard<'_, Shared<Q>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all from `work`. False: not just now.
    pub(super) fn try_post(&self, work: &mut Q) -> bool {
        let mut shared = match self.shared.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread may be without a CPU while it has the lock.
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

    /// Takes the last of the work, which is to be done soon.
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

    /// Nothing more is done, and what runs is to be ended.
    pub(super) fn close_now(&self) {
        let mut shared = self.shared();
        shared.inbox.clear();
        *self.bell.closing() = Closing::Now;
        drop(shared);
        self.bell.ring();
    }

    /// Waits for the next thing to do; `None`: there is none any more.
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

    /// There is nobody to do the work: waits for `pause`, or the end.
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

    /// Whether there is no hurry to post anything.
    pub(super) fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }

    fn wait(&self, poller: &mut Poller, timeout: Option<Duration>) {
        // What fails here fails nowhere on a healthy system, and is then no more than a wake-up.
        let _ = poller.wait(timeout);
        self.bell.silence();
    }
}
