//! Hooks: programs that a worker thread runs after every change (`docs/reference/hooks.md`).
//!
//! The loop never waits for a hook. Start with [`Hooks::notify`].

mod change;
mod directory;
mod programs;
mod queue;
mod runner;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ring_proto::time::{Instant, Now};

pub use change::{Change, Changes, Head, event};
pub use programs::{HookSources, start_launcher};
pub use queue::{Queue, WAITING_CHANGES_MAX};
use ring_runtime::worker::Worker;
use runner::Runner;

use crate::program::Launcher;

/// Maximum time for which the loop postpones events while no hook exists.
const POSTPONE_MAX: Duration = Duration::from_secs(1);
/// If this number of events is postponed, the loop passes them on. The history stores only a limited number of events.
const POSTPONED_EVENTS_MAX: u64 = 256;
/// Maximum number of changes that the loop passes to hooks separately. If there are more changes, the loop merges all
/// of them into one.
const SINGLE_CHANGES_MAX: u64 = 64;

/// The settings of all hooks.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Variables in the environment of every hook.
    pub environment: Vec<(&'static str, String)>,
    /// Maximum run time of one hook.
    pub timeout: Duration,
    /// Warning that hooks will run all the time, with the reason. The daemon logs this warning when the first hook
    /// appears.
    pub constant_changes: Option<String>,
    /// Whether the launcher must read the configuration file again before the next hook.
    pub reloads: bool,
}

/// The loop's side of the hooks.
#[derive(Debug)]
pub struct Hooks<C: Change> {
    worker: Worker<Queue<C>>,
    settings: Arc<Mutex<Settings>>,
    /// Number of the next event that must be passed to hooks.
    next: u64,
    /// Time at which hooks get the postponed events.
    postponed_until: Option<Instant>,
}

impl<C: Change> Hooks<C> {
    /// Starts the thread and reports the daemon's start to hooks. `launcher` comes from [`start_launcher`].
    ///
    /// # Errors
    /// Fails if the process has too many files open, or too many threads.
    pub fn start(
        launcher: Launcher,
        settings: Settings,
        now: Now,
        history: &impl Changes<Change = C>,
    ) -> io::Result<Self> {
        let settings = Arc::new(Mutex::new(settings));
        let of_runner = Arc::clone(&settings);
        let worker = Worker::start("hooks", move |mailbox, poller| {
            Runner::new(launcher, of_runner, mailbox, poller).run();
        })?;
        let mut hooks = Self {
            worker,
            settings,
            next: history.latest() + 1,
            postponed_until: None,
        };
        hooks.worker.hold(history.start_change(now));
        hooks.worker.post(now.monotonic);
        Ok(hooks)
    }

    /// Changes the settings of hooks. Hooks that are running keep the old settings.
    pub fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Passes all new events to hooks. Never waits. While no hook exists, postpones the events, because a fast ring has
    /// a change at each hop.
    pub fn notify(&mut self, now: Instant, history: &impl Changes<Change = C>) {
        let unseen = history.latest() + 1 - self.next;
        let is_due = self.deadline().is_some_and(|at| at <= now);
        if (1..POSTPONED_EVENTS_MAX).contains(&unseen) && !is_due && self.worker.is_resting() {
            self.postponed_until.get_or_insert(now + POSTPONE_MAX);
            return;
        }
        self.postponed_until = None;
        self.collect_changes(history);
        self.worker.post(now);
    }

    fn collect_changes(&mut self, history: &impl Changes<Change = C>) {
        let latest = history.latest();
        if latest + 1 - self.next > SINGLE_CHANGES_MAX {
            self.hold(history.merged_change_since(self.next));
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

    /// Returns the latest time for the next call of [`notify`](Self::notify).
    pub fn deadline(&self) -> Option<Instant> {
        [self.postponed_until, self.worker.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Passes all remaining events to hooks, and reports the end of the daemon. Then waits a bounded time until the
    /// hooks have ended. If `is_over` returns `true` before, ends the hooks.
    pub fn finish(
        &mut self,
        now: Now,
        history: &impl Changes<Change = C>,
        is_over: impl FnMut() -> bool,
    ) {
        self.collect_changes(history);
        self.worker.hold(history.stop_change(now));
        self.worker.finish(is_over);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use ring_proto::time::{Instant, Now};

    use super::{Change, Changes, Head, Hooks, POSTPONE_MAX, event};
    use ring_runtime::worker::Worker;

    /// A change without contents.
    #[derive(Debug, Clone, Copy)]
    struct EmptyChange;

    impl Change for EmptyChange {
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

        fn system_variables(&self) -> impl IntoIterator<Item = (&'static str, String)> {
            []
        }
    }

    /// A history with this number of events. Hooks get none of these events.
    struct SilentHistory(u64);

    impl Changes for SilentHistory {
        type Change = EmptyChange;

        fn latest(&self) -> u64 {
            self.0
        }

        fn change(&self, _: u64) -> Option<EmptyChange> {
            None
        }

        fn merged_change_since(&self, _: u64) -> Option<EmptyChange> {
            None
        }

        fn start_change(&self, _: Now) -> EmptyChange {
            EmptyChange
        }

        fn stop_change(&self, _: Now) -> EmptyChange {
            EmptyChange
        }
    }

    #[test]
    fn events_are_passed_on_once_while_there_is_no_hook() {
        let now = Instant::from_nanos(1);
        let worker = Worker::start("rests", |mailbox, mut poller| {
            mailbox.rest(&mut poller, Duration::from_secs(3600));
        });
        let mut hooks = Hooks {
            worker: worker.expect("there are threads"),
            settings: Arc::default(),
            next: 1,
            postponed_until: None,
        };
        while !hooks.worker.is_resting() {
            thread::yield_now();
        }
        hooks.notify(now, &SilentHistory(1));
        let postponed_until = hooks.deadline();
        hooks.notify(now + POSTPONE_MAX, &SilentHistory(1));
        assert_eq!(
            [postponed_until, hooks.deadline()],
            [Some(now + POSTPONE_MAX), None]
        );
        hooks.worker.finish(|| true);
    }
}
