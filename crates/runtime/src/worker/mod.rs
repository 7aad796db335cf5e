//! Threads for work that may block, such as programs and queries.
//!
//! The loop puts work into a [`Mailbox`] and never waits for the result. The thread does one item at a time. Start with
//! [`Worker`].

mod bell;
mod inbox;
mod mailbox;
mod repeated;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::clock;
use crate::wait::{Interest, Poller};
use ring_proto::time::Instant;

pub use bell::WakeUp;
pub use inbox::Inbox;
pub use mailbox::Mailbox;
pub use repeated::PeriodicValue;

/// Delay before the loop retries a locked mailbox.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);
/// Interval at which the loop checks `is_over` while the thread finishes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time to wait for the thread's end. The last items need less time, even if their programs must be killed.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
/// The default timer slack, in nanoseconds.
const DEFAULT_TIMER_SLACK: u32 = 50_000;

/// The loop's side of a thread and its work.
#[derive(Debug)]
pub struct Worker<Q: Inbox> {
    mailbox: Arc<Mailbox<Q>>,
    /// Items that still have to be moved to the mailbox.
    held: Q,
    retry: Option<Instant>,
    /// Channel that closes when the thread ends.
    ended: Receiver<()>,
}

impl<Q: Inbox> Worker<Q> {
    /// Starts a thread that runs `work` until the mailbox is closed. The mailbox's bell wakes the thread's poller.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or too many threads.
    pub fn start(
        name: &'static str,
        work: impl FnOnce(&Mailbox<Q>, Poller) + Send + 'static,
    ) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::new()?);
        let poller = Poller::new()?;
        poller.add(mailbox.bell(), 0, Interest::Read)?;
        let (end, ended) = mpsc::channel();
        let shared = Arc::clone(&mailbox);
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // If this fails, the thread keeps the timer slack of the loop, which is smaller.
                let _ = clock::timer_slack(DEFAULT_TIMER_SLACK);
                work(&shared, poller);
                drop(end);
            })?;
        Ok(Self {
            mailbox,
            held: Q::default(),
            retry: None,
            ended,
        })
    }

    /// Adds an item for the next [`post`](Self::post).
    pub fn hold(&mut self, item: Q::Item) {
        self.held.push(item);
    }

    /// Moves all held items to the mailbox, without waiting. If the thread has locked the mailbox, the caller must call
    /// this function again at [`deadline`](Self::deadline).
    pub fn post(&mut self, now: Instant) {
        if self.held.is_empty() {
            self.retry = None;
            return;
        }
        let posted = self.mailbox.try_post(&mut self.held);
        self.retry = (!posted).then_some(now + RETRY_INTERVAL);
    }

    /// Returns the latest time for the next call of [`post`](Self::post).
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// Returns the thread's bell.
    pub fn bell(&self) -> &WakeUp {
        self.mailbox.bell()
    }

    /// Whether the thread [rests](Mailbox::rest), so that new items are not urgent.
    pub fn is_resting(&self) -> bool {
        self.mailbox.is_resting()
    }

    /// Makes the thread do all remaining items, and waits a bounded time for the thread. As soon as `is_over` returns
    /// `true`, drops the remaining items and ends the current item.
    pub fn finish(&mut self, mut is_over: impl FnMut() -> bool) {
        self.mailbox.close(&mut self.held);
        let mut hurries = false;
        self.join(|| {
            if !hurries && is_over() {
                hurries = true;
                self.mailbox.close_now();
            }
            false
        });
    }

    /// Ends the current item and drops the remaining items.
    pub fn cancel(&self) {
        self.mailbox.close_now();
    }

    /// Waits a bounded time for the thread's end, or until `is_over` returns `true`.
    pub fn join(&self, mut is_over: impl FnMut() -> bool) {
        let mut left = JOIN_TIMEOUT;
        while !left.is_zero() && !is_over() {
            if self.ended.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            left = left.saturating_sub(POLL_INTERVAL);
        }
    }
}
