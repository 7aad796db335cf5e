//! Programs that are run at every change (`docs/hooks.md`).
//!
//! The loop leaves changes in a [`Mailbox`], which it never waits for; a thread of its own takes
//! them from there, one at a time, and runs the hooks. Whatever those do, the loop goes on.

mod directory;
mod mailbox;
mod output;
mod process;
mod queue;
mod runner;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ring_proto::time::{Instant, Now};

use super::Options;
use super::history::History;
use mailbox::Mailbox;
use queue::Queue;
use runner::{Runner, Settings};

use super::change::{Change, event};

/// How soon the mailbox is tried again that the thread was just at.
const AGAIN: Duration = Duration::from_millis(1);
/// How long it may be put off to look at what is new while there is no hook.
const LATER: Duration = Duration::from_secs(1);
/// So much that is new is looked at in any case: not much more is remembered.
const UNSEEN: u64 = 256;
/// As many changes as hooks are told one by one; more become one.
const ONE_BY_ONE: u64 = 64;
/// How often is looked, while the last hooks run, whether they are not to be waited for.
const LOOK: Duration = Duration::from_millis(20);
/// Longer than the last hooks may take, a killed one's end included.
const AT_MOST: Duration = Duration::from_secs(10);

/// The hooks, as the loop sees them.
#[derive(Debug)]
pub struct Hooks {
    mailbox: Arc<Mailbox>,
    /// What the mailbox had not to be had for.
    held: Queue,
    /// The number of the event that is looked at next.
    next: u64,
    retry: Option<Instant>,
    /// Says that the thread has ended.
    ended: Receiver<()>,
}

impl Hooks {
    /// Starts the thread, and has it tell that the daemon has started.
    ///
    /// # Errors
    /// The process has too many files open, or threads.
    pub fn start(
        options: &Options,
        idle_hold: Duration,
        now: Now,
        history: &History,
    ) -> io::Result<Self> {
        let settings = Settings {
            interface: options.interface.clone(),
            ring: options.ring().to_string(),
            command: options.on_change.clone(),
            directory: options.hooks_dir.clone(),
            timeout: options.hook_timeout,
            idle_hold,
        };
        let mailbox = Arc::new(Mailbox::new()?);
        let runner = Runner::new(settings, Arc::clone(&mailbox))?;
        let (end, ended) = mpsc::channel();
        thread::Builder::new()
            .name("hooks".to_owned())
            .spawn(move || {
                runner.run();
                drop(end);
            })?;
        let mut hooks = Self {
            mailbox,
            held: Queue::new(),
            next: history.latest() + 1,
            retry: None,
            ended,
        };
        hooks.held.push(Change {
            event: event::STARTED,
            from: None,
            ..history.standing(now)
        });
        hooks.post(now.monotonic);
        Ok(hooks)
    }

    /// Has all that is new told. Never waits. While there is no hook it is put off: in a fast ring there is a
    /// change at each hop.
    pub fn tell(&mut self, now: Instant, history: &History) {
        let unseen = history.latest() + 1 - self.next;
        let is_due = self.retry.is_some_and(|at| at <= now);
        if (1..UNSEEN).contains(&unseen) && !is_due && self.mailbox.rests() {
            self.retry.get_or_insert(now + LATER);
            return;
        }
        self.retry = None;
        self.look_at(history);
        if !self.held.is_empty() {
            self.post(now);
        }
    }

    fn look_at(&mut self, history: &History) {
        let latest = history.latest();
        if latest + 1 - self.next > ONE_BY_ONE {
            self.held.extend(history.change_since(self.next));
            self.next = latest + 1;
        }
        while self.next <= latest {
            self.held.extend(history.change(self.next));
            self.next += 1;
        }
    }

    fn post(&mut self, now: Instant) {
        let posted = self.mailbox.try_post(&mut self.held);
        self.retry = (!posted).then_some(now + AGAIN);
    }

    /// When [`tell`](Self::tell) is to be called at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// Has it told that the daemon ends, with all that was not told yet, and waits for that, but
    /// not for long; not at all once `is_over` says so.
    pub fn finish(&mut self, now: Now, history: &History, mut is_over: impl FnMut() -> bool) {
        self.look_at(history);
        self.held.push(Change {
            number: history.latest() + 1,
            event: event::STOPPED,
            state: None,
            ..history.standing(now)
        });
        self.held.merge();
        if let Some(last) = self.held.pop() {
            self.mailbox.close(last);
        }
        let mut left = AT_MOST;
        let mut hurries = false;
        while !left.is_zero() {
            if !hurries && is_over() {
                hurries = true;
                self.mailbox.close_now();
            }
            if self.ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            left = left.saturating_sub(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use ring_proto::time::{Instant, Now};

    use super::{Hooks, LATER, Mailbox, Queue};
    use crate::daemon::history::History;
    use crate::sys::Poller;

    #[test]
    fn what_hooks_are_not_told_of_is_looked_at_once_while_there_is_none() {
        let now = Now {
            monotonic: Instant::from_nanos(1),
            wall: 1_700_000_000_000_000_000,
        };
        let mut history = History::new(now);
        let mailbox = Arc::new(Mailbox::new().expect("there are descriptors"));
        let mut hooks = Hooks {
            mailbox: Arc::clone(&mailbox),
            held: Queue::new(),
            next: history.latest() + 1,
            retry: None,
            ended: mpsc::channel().1,
        };
        let deadlines = thread::scope(|scope| {
            scope.spawn(|| {
                let mut poller = Poller::new().expect("there are descriptors");
                mailbox.rest(&mut poller, Duration::from_millis(100));
            });
            while !mailbox.rests() {
                thread::yield_now();
            }
            history.lock(now, "lock_granted", "backup", None);
            hooks.tell(now.monotonic, &history);
            let put_off = hooks.deadline();
            hooks.tell(now.monotonic + LATER, &history);
            [put_off, hooks.deadline()]
        });
        assert_eq!(deadlines, [Some(now.monotonic + LATER), None]);
    }
}
