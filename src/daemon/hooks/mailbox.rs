//! Where the loop leaves changes for the thread that runs the hooks.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::queue::Queue;
use crate::daemon::change::Change;
use crate::sys::Poller;

/// How long a hook that runs when the daemon ends may take until its end, and then how long those
/// may take in all that are told of the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// How soon the thread has to be done.
#[derive(Debug, Clone, Copy)]
enum Closing {
    /// There is no hurry.
    No,
    /// What runs may run until then.
    By(Instant),
    /// What runs is to be killed.
    Now,
}

/// Changes, and a bell to wake the thread up. The loop never waits for it.
#[derive(Debug)]
pub(super) struct Mailbox {
    shared: Mutex<Shared>,
    bell: EventFd,
    /// There was nobody to tell when the thread looked last, and it is not looking again yet.
    rests: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    queue: Queue,
    /// The thread waits to be woken up.
    attentive: bool,
    closing: Closing,
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            shared: Mutex::new(Shared {
                queue: Queue::new(),
                attentive: false,
                closing: Closing::No,
            }),
            bell: EventFd::from_flags(flags)?,
            rests: AtomicBool::new(false),
        })
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        // It cannot fail but for a bell that rings already.
        let _ = self.bell.write(1);
    }

    /// Takes all from `changes`. False: not just now.
    pub(super) fn try_post(&self, changes: &mut Queue) -> bool {
        let mut shared = match self.shared.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread may be without a CPU while it has the lock.
            Err(TryLockError::WouldBlock) => return false,
        };
        while let Some(change) = changes.pop() {
            shared.queue.push(change);
        }
        if std::mem::take(&mut shared.attentive) {
            drop(shared);
            self.ring();
        }
        true
    }

    /// Takes the last change. It is told soon, and as one with all that wait.
    pub(super) fn close(&self, last: Change) {
        let mut shared = self.shared();
        shared.queue.push(last);
        shared.queue.merge();
        shared.closing = Closing::By(Instant::now() + FAREWELL);
        drop(shared);
        self.ring();
    }

    /// Nothing more is told, and what runs is to be killed.
    pub(super) fn close_now(&self) {
        let mut shared = self.shared();
        shared.queue.clear();
        shared.closing = Closing::Now;
        drop(shared);
        self.ring();
    }

    /// Waits for the next change; `None`: there is none any more.
    pub(super) fn next(&self, poller: &mut Poller) -> Option<Change> {
        loop {
            {
                let mut shared = self.shared();
                let next = shared.queue.pop();
                let closes = !matches!(shared.closing, Closing::No);
                if let (true, Closing::By(until)) = (next.is_some(), &mut shared.closing) {
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

    /// There is nobody to tell: waits for `pause`, or the end.
    pub(super) fn rest(&self, poller: &mut Poller, pause: Duration) {
        let mut shared = self.shared();
        shared.queue.clear();
        let closes = !matches!(shared.closing, Closing::No);
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
        self.silence();
    }

    /// Stops the bell's ringing.
    pub(super) fn silence(&self) {
        let _ = self.bell.read();
    }

    /// When a hook that may run until `until` is to end in view of the daemon's end.
    pub(super) fn limit(&self, until: Instant, now: Instant) -> Instant {
        match self.shared().closing {
            Closing::No => until,
            Closing::By(by) => until.min(by),
            Closing::Now => now,
        }
    }

    /// Whether what runs is to be killed.
    pub(super) fn closes_now(&self) -> bool {
        matches!(self.shared().closing, Closing::Now)
    }
}

impl AsFd for Mailbox {
    /// Readable when the thread has been woken up.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
