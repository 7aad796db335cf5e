//! Threads that do for the loop what may wait: programs, queries, anything that blocks.
//!
//! The loop leaves work in a [`Mailbox`], which it never waits for; the thread takes it from there, one
//! thing at a time. Whatever that does, the loop goes on.

mod bell;
mod inbox;
mod mailbox;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ring_proto::time::Instant;
use tracing::debug;

use crate::sys::{Interest, Poller, clock, nice};
pub use bell::Bell;
pub use inbox::Inbox;
pub use mailbox::Mailbox;

/// How soon the mailbox is tried again that the thread was just at.
const AGAIN: Duration = Duration::from_millis(1);
/// How often is looked, while the last of the work is done, whether that is not to be waited for.
const LOOK: Duration = Duration::from_millis(20);
/// Longer than the last of the work may take, the end of what has to be killed included.
const AT_MOST: Duration = Duration::from_secs(10);
/// The nice value of who asked for nothing else.
const NICE: i32 = 0;
/// How late the kernel may wake who asked for nothing else, in nanoseconds.
const TIMER_SLACK: u32 = 50_000;

/// A thread and its work, as the loop sees them.
#[derive(Debug)]
pub struct Worker<Q: Inbox> {
    mailbox: Arc<Mailbox<Q>>,
    /// What the mailbox could not take yet.
    held: Q,
    retry: Option<Instant>,
    /// Says that the thread has ended.
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
                favour_nobody(name);
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

    /// Something to be done, once it is [posted](Self::post).
    pub fn hold(&mut self, item: Q::Item) {
        self.held.push(item);
    }

    /// Leaves all that is held in the mailbox. Never waits: if the thread is just there, it is to be called
    /// again at [`deadline`](Self::deadline).
    pub fn post(&mut self, now: Instant) {
        if self.held.is_empty() {
            self.retry = None;
            return;
        }
        let posted = self.mailbox.try_post(&mut self.held);
        self.retry = (!posted).then_some(now + AGAIN);
    }

    /// When [`post`](Self::post) is to be called at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// Whether there is no hurry to post anything.
    pub fn rests(&self) -> bool {
        self.mailbox.rests()
    }

    /// Has all done that was not done yet, and waits for that, but not for long; not at all once `is_over`
    /// says so.
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

    /// Ends what is being done, and has nothing more done.
    pub fn cancel(&self) {
        self.mailbox.close_now();
    }

    /// Waits for the thread's end, but not for long; not at all once `is_over` says so.
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

/// What is good for a hop is too much for work that may wait, and for the programs that inherit it.
fn favour_nobody(name: &str) {
    let done = nice::at_least(NICE).and_then(|()| clock::timer_slack(TIMER_SLACK));
    if let Err(error) = done {
        debug!(
            event = "worker_favoured",
            worker = name,
            "the thread '{name}' runs with ringd's own share of the CPU: {error}"
        );
    }
}
