//! Threads that do the loop's blocking work: programs, queries, anything that waits.
//!
//! The loop leaves work in a [`Mailbox`], without ever waiting for it. The thread takes one item at a time.
//! Whatever the thread does, the loop goes on.

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
use crate::nice;
use crate::wait::{Interest, Poller};
use ring_proto::time::Instant;

pub use bell::Bell;
pub use inbox::Inbox;
pub use mailbox::Mailbox;
pub use repeated::Repeated;

/// The time until the loop tries a mailbox again that the thread had locked.
const AGAIN: Duration = Duration::from_millis(1);
/// The time between two looks at `is_over` while the thread finishes.
const LOOK: Duration = Duration::from_millis(20);
/// Upper bound for waiting for the thread's end: longer than the last items may take, kills included.
const AT_MOST: Duration = Duration::from_secs(10);
/// The default nice value.
const NICE: i32 = 0;
/// The default timer slack, in nanoseconds.
const TIMER_SLACK: u32 = 50_000;

/// A thread and its work, as the loop sees them.
#[derive(Debug)]
pub struct Worker<Q: Inbox> {
    mailbox: Arc<Mailbox<Q>>,
    /// Items that are not in the mailbox yet.
    held: Q,
    retry: Option<Instant>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl<Q: Inbox> Worker<Q> {
    /// Starts a thread that does `work` until its mailbox has nothing more; its poller is woken by the
    /// mailbox's bell.
    ///
    /// # Errors
    /// The process has too many files open, or threads.
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
                favour_nobody();
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

    /// Adds an item; [`post`](Self::post) passes it on.
    pub fn hold(&mut self, item: Q::Item) {
        self.held.push(item);
    }

    /// Moves all held items to the mailbox. Never waits: if the thread has locked the mailbox, call it again at
    /// [`deadline`](Self::deadline).
    pub fn post(&mut self, now: Instant) {
        if self.held.is_empty() {
            self.retry = None;
            return;
        }
        let posted = self.mailbox.try_post(&mut self.held);
        self.retry = (!posted).then_some(now + AGAIN);
    }

    /// When to call [`post`](Self::post) again at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// The thread's bell.
    pub fn bell(&self) -> &Bell {
        self.mailbox.bell()
    }

    /// Whether posting is not urgent: see [`Mailbox::rest`].
    pub fn rests(&self) -> bool {
        self.mailbox.rests()
    }

    /// Has the thread do all that is left, and waits for that for a bounded time. As soon as `is_over` returns
    /// `true`, the rest is dropped and the item in hand ended.
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

    /// Ends the item in hand and drops the others.
    pub fn cancel(&self) {
        self.mailbox.close_now();
    }

    /// Waits for the thread's end for a bounded time; stops waiting as soon as `is_over` returns `true`.
    pub fn join(&self, mut is_over: impl FnMut() -> bool) {
        let mut left = AT_MOST;
        while !left.is_zero() && !is_over() {
            if self.ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            left = left.saturating_sub(LOOK);
        }
    }
}

/// Gives up the loop's priority: work that may wait, and the programs that inherit it, have no right to it.
fn favour_nobody() {
    // Lowering the priority needs no permission. If it fails anyway, the thread keeps the daemon's priority.
    let _ = nice::at_least(NICE).and_then(|()| clock::timer_slack(TIMER_SLACK));
}
