//! Hooks: programs that a worker runs at every change (`docs/hooks.md`).

mod change;
mod directory;
mod queue;
mod runner;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ring_proto::time::{Instant, Now};

pub use change::{Change, Changes, Head, event};
pub use queue::{Queue, WAITING};
use ring_runtime::worker::Worker;
use runner::Runner;

/// Maximum delay before new events are looked at while there is no hook.
const LATER: Duration = Duration::from_secs(1);
/// This many new events are looked at in any case: not many more are retained.
const UNSEEN: u64 = 256;
/// Maximum changes that hooks get one by one; more are merged into one.
const ONE_BY_ONE: u64 = 64;

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Variables in the environment of every hook.
    pub environment: Vec<(&'static str, String)>,
    /// A line for the shell.
    pub command: Option<String>,
    /// A directory of programs.
    pub directory: PathBuf,
    /// Maximum run time of one hook.
    pub timeout: Duration,
    /// A warning for the log when the first hook runs: hooks will run all the time, and why.
    pub restless: Option<String>,
}

/// The hooks, as the loop sees them.
#[derive(Debug)]
pub struct Hooks<C: Change> {
    worker: Worker<Queue<C>>,
    /// The number of the next event to look at.
    next: u64,
    /// When to look at events that were put off.
    put_off: Option<Instant>,
}

impl<C: Change> Hooks<C> {
    /// Starts the thread, and tells hooks that the daemon has started.
    ///
    /// # Errors
    /// The process has too many files open, or threads.
    pub fn start(
        settings: Settings,
        now: Now,
        history: &impl Changes<Change = C>,
    ) -> io::Result<Self> {
        let worker = Worker::start("hooks", move |mailbox, poller| {
            Runner::new(settings, mailbox, poller).run();
        })?;
        let mut hooks = Self {
            worker,
            next: history.latest() + 1,
            put_off: None,
        };
        hooks.worker.hold(history.started(now));
        hooks.worker.post(now.monotonic);
        Ok(hooks)
    }

    /// Tells hooks all new events. Never waits. Puts that off while there is no hook: a fast ring has a change at
    /// each hop.
    pub fn tell(&mut self, now: Instant, history: &impl Changes<Change = C>) {
        let unseen = history.latest() + 1 - self.next;
        let is_due = self.deadline().is_some_and(|at| at <= now);
        if (1..UNSEEN).contains(&unseen) && !is_due && self.worker.rests() {
            self.put_off.get_or_insert(now + LATER);
            return;
        }
        self.put_off = None;
        self.look_at(history);
        self.worker.post(now);
    }

    fn look_at(&mut self, history: &impl Changes<Change = C>) {
        let latest = history.latest();
        if latest + 1 - self.next > ONE_BY_ONE {
            self.hold(history.change_since(self.next));
            self.next = latest + 1;
        }
        while self.next <= latest {
            self.hold(history.change(self.next));
            self.next += 1;
        }
    }

    fn hold(&mut self, change: Option<C>) {
        if let Some(change) = change {
            self.worker.hold(change);
        }
    }

    /// When to call [`tell`](Self::tell) at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        [self.put_off, self.worker.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Tells hooks all that is left and that the daemon ends, and waits for them for a bounded time; ends them as
    /// soon as `is_over` returns `true`.
    pub fn finish(
        &mut self,
        now: Now,
        history: &impl Changes<Change = C>,
        is_over: impl FnMut() -> bool,
    ) {
        self.look_at(history);
        self.worker.hold(history.stopped(now));
        self.worker.finish(is_over);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use ring_proto::time::{Instant, Now};

    use super::{Change, Changes, Head, Hooks, LATER, event};
    use ring_runtime::worker::Worker;

    /// A change that says nothing.
    #[derive(Debug, Clone, Copy)]
    struct Nothing;

    impl Change for Nothing {
        fn head(&self) -> Head {
            Head {
                number: 0,
                time_ms: 0,
                event: event::STATE,
                from: None,
                state: None,
                merged: 0,
            }
        }

        fn after(self, _: Self) -> Self {
            self
        }

        fn own_environment(&self) -> impl IntoIterator<Item = (&'static str, String)> {
            []
        }
    }

    /// So many events, none of which hooks are told of.
    struct Unheard(u64);

    impl Changes for Unheard {
        type Change = Nothing;

        fn latest(&self) -> u64 {
            self.0
        }

        fn change(&self, _: u64) -> Option<Nothing> {
            None
        }

        fn change_since(&self, _: u64) -> Option<Nothing> {
            None
        }

        fn started(&self, _: Now) -> Nothing {
            Nothing
        }

        fn stopped(&self, _: Now) -> Nothing {
            Nothing
        }
    }

    #[test]
    fn what_hooks_are_not_told_of_is_looked_at_once_while_there_is_none() {
        let now = Instant::from_nanos(1);
        let worker = Worker::start("rests", |mailbox, mut poller| {
            mailbox.rest(&mut poller, Duration::from_secs(3600));
        });
        let mut hooks = Hooks {
            worker: worker.expect("there are threads"),
            next: 1,
            put_off: None,
        };
        while !hooks.worker.rests() {
            thread::yield_now();
        }
        hooks.tell(now, &Unheard(1));
        let put_off = hooks.deadline();
        hooks.tell(now + LATER, &Unheard(1));
        assert_eq!([put_off, hooks.deadline()], [Some(now + LATER), None]);
        hooks.worker.finish(|| true);
    }
}
