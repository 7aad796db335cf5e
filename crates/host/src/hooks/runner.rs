//! Runs the hooks, in a thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use ring_runtime::clock;
use ring_runtime::wait::Poller;
use ring_runtime::worker::Mailbox;
use ring_text::format_duration;
use tracing::{debug, info, warn};

use super::{Change, Queue, Settings};
use crate::observe::RateLimit;
use crate::observe::events;
use crate::program::{self, End, Launch, Launcher, RunOptions};

/// Interval at which the runner searches for hooks while no hook exists. While no hook exists, the runner drops all
/// events.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Rate limit for log lines: the lines that hooks print, and the lines about hooks.
const LINES_LIMIT: RateLimit = RateLimit::new(100, Duration::from_millis(100));

/// The subject of a problem that concerns all hooks.
const ALL_HOOKS: &str = "programs";

/// Runs hooks, in the worker's thread.
#[derive(Debug)]
pub(super) struct Runner<'a, C> {
    launcher: Launcher,
    settings: Arc<Mutex<Settings>>,
    mailbox: &'a Mailbox<Queue<C>>,
    poller: Poller,
    lines: RateLimit,
    problem_limit: RateLimit,
    /// Last logged problem of each hook.
    problems: BTreeMap<String, String>,
}

impl<'a, C: Change> Runner<'a, C> {
    pub(super) const fn new(
        launcher: Launcher,
        settings: Arc<Mutex<Settings>>,
        mailbox: &'a Mailbox<Queue<C>>,
        poller: Poller,
    ) -> Self {
        Self {
            launcher,
            settings,
            mailbox,
            poller,
            lines: LINES_LIMIT,
            problem_limit: LINES_LIMIT,
            problems: BTreeMap::new(),
        }
    }

    /// Runs hooks until the mailbox is closed.
    pub(super) fn run(mut self) {
        while let Some(change) = self.mailbox.next(&mut self.poller) {
            let settings = self.settings().clone();
            let hooks = self.find_hooks();
            if hooks.is_empty() {
                self.mailbox.rest(&mut self.poller, POLL_INTERVAL);
                continue;
            }
            let constant_changes = self.settings().constant_changes.take();
            if let Some(constant_changes) = constant_changes {
                warn!(event = events::HOOKS_DIR_CHANGING, "{constant_changes}");
            }
            for (program, name) in hooks.into_iter().enumerate() {
                self.run_hook(&settings, program, name, &change);
            }
        }
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names of the hooks. The index of a name is the index of the hook in the launcher.
    fn find_hooks(&mut self) -> Vec<String> {
        let reloads = std::mem::take(&mut self.settings().reloads);
        let found = match self.launcher.find(reloads) {
            Ok(found) => found,
            Err(error) => {
                self.report_problem(ALL_HOOKS.to_owned(), Some(format!("cannot run: {error}")));
                return Vec::new();
            }
        };
        let known = found.problems.iter().map(|(name, _)| name);
        let known: BTreeSet<_> = known.chain(&found.names).collect();
        self.problems.retain(|name, _| known.contains(name));
        for (name, why) in found.problems {
            self.report_problem(name, Some(why));
        }
        found.names
    }

    fn run_hook(&mut self, settings: &Settings, program: usize, name: String, change: &C) {
        let begun = Instant::now();
        let until = begun + settings.timeout;
        if self.mailbox.bell().limit(until, begun) <= begun {
            let why = "was not run: the daemon is shutting down";
            return self.report_problem(name, Some(why.to_owned()));
        }
        let variables = settings.environment.iter().cloned();
        let variables = variables.chain(change.variables());
        let launch = Launch {
            program,
            arguments: Vec::new(),
            variables: variables
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        };
        let lines = &mut self.lines;
        let mut say = |line: &str| {
            if lines.allow(clock::now().monotonic) {
                let more = match lines.take_refused() {
                    0 => String::new(),
                    lines => format!(" ({lines} earlier lines were not shown)"),
                };
                info!(
                    event = events::HOOK_OUTPUT,
                    hook = name,
                    "hook {name}: {line}{more}"
                );
            }
        };
        let options = RunOptions {
            input: None,
            capture: None,
            until,
            bell: self.mailbox.bell(),
        };
        let outcome = program::run(&mut self.launcher, launch, &options, &mut say);
        let end = outcome.map(|outcome| outcome.end);
        let took = begun.elapsed();
        let number = change.head().number;
        debug!(
            event = events::HOOK_RAN,
            hook = name,
            number,
            "hook {name} ran for {took:?} at event {number}"
        );
        let problem = find_problem(settings, end);
        self.report_problem(name, problem);
    }

    /// Logs a new problem of a hook, or the end of a problem.
    fn report_problem(&mut self, name: String, problem: Option<String>) {
        if self.problems.get(&name) == problem.as_ref() {
            return;
        }
        let admitted = self.problem_limit.allow(clock::now().monotonic);
        if let Some(problem) = problem {
            if admitted {
                warn!(
                    event = events::HOOK_FAILED,
                    hook = name,
                    problem,
                    "hook {name} {problem}"
                );
            }
            self.problems.insert(name, problem);
        } else {
            self.problems.remove(&name);
            if admitted {
                info!(
                    event = events::HOOK_RECOVERED,
                    hook = name,
                    "hook {name} works again"
                );
            }
        }
    }
}

fn find_problem(settings: &Settings, end: io::Result<End>) -> Option<String> {
    let says = |text: &dyn Display| Some(text.to_string());
    match end {
        Err(error) => says(&format_args!("cannot be started: {error}")),
        Ok(End::Exit(status) | End::LeftBehind(status)) if !status.success() => {
            Some(describe_failure(status))
        }
        Ok(End::Exit(_)) => None,
        Ok(End::LeftBehind(_)) => says(
            &"left processes behind, and the daemon ended them; if a process must continue, start it with setsid",
        ),
        Ok(End::Cancelled) => says(&"was ended: the daemon is shutting down"),
        Ok(End::Late) => says(&format_args!(
            "did not end within {} and was ended; see --hook-timeout",
            format_duration(settings.timeout)
        )),
        Ok(End::Stuck) => {
            says(&"was killed but does not end; the daemon runs later hooks nevertheless")
        }
    }
}

fn describe_failure(status: ExitStatus) -> String {
    match (status.code(), status.signal().map(Signal::try_from)) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(Ok(signal))) => format!("was killed by {signal}"),
        (None, _) => format!("failed: {status}"),
    }
}
