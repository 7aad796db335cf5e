//! Runs the hooks, in a thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use ring_runtime::clock;
use ring_runtime::wait::Poller;
use ring_runtime::worker::Mailbox;
use ring_text::format_duration;
use tracing::{debug, info, warn};

use super::{Change, Queue, Settings, directory};
use crate::observe::RateLimit;
use crate::observe::events;
use crate::program::{self, End, RunOptions};

/// Interval at which the runner searches for hooks while no hook exists. The runner drops events that happen while no
/// hook exists.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Rate limit of the lines that hooks print, and of the lines about hooks.
const LINES_LIMIT: RateLimit = RateLimit::new(100, Duration::from_millis(100));

const COMMAND_LINE_HOOK: &str = "--on-change";

#[derive(Debug, Clone)]
enum Hook {
    Line(String),
    File(PathBuf),
}

impl Hook {
    fn name(&self) -> String {
        match self {
            Self::Line(_) => COMMAND_LINE_HOOK.to_owned(),
            Self::File(path) => display_path(path),
        }
    }

    fn build_command(&self) -> Command {
        match self {
            Self::Line(line) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", line]);
                shell
            }
            Self::File(path) => Command::new(path),
        }
    }
}

/// Runs hooks, in the worker's thread.
#[derive(Debug)]
pub(super) struct Runner<'a, C> {
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
        settings: Arc<Mutex<Settings>>,
        mailbox: &'a Mailbox<Queue<C>>,
        poller: Poller,
    ) -> Self {
        Self {
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
            let hooks = self.find_hooks(&settings);
            if hooks.is_empty() {
                self.mailbox.rest(&mut self.poller, POLL_INTERVAL);
                continue;
            }
            let constant_changes = self.settings().constant_changes.take();
            if let Some(constant_changes) = constant_changes {
                warn!(event = events::HOOKS_DIR_CHANGING, "{constant_changes}");
            }
            for hook in hooks {
                self.run_hook(&settings, &hook, &change);
            }
        }
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_hooks(&mut self, settings: &Settings) -> Vec<Hook> {
        let found = directory::find_hooks(&settings.directory);
        let known = found.problems.iter().map(|(path, _)| path);
        let known: BTreeSet<_> = known
            .chain(&found.hooks)
            .map(|path| display_path(path))
            .collect();
        self.problems
            .retain(|name, _| name == COMMAND_LINE_HOOK || known.contains(name));
        for (path, why) in found.problems {
            self.report_problem(display_path(&path), Some(why));
        }
        let line = settings.command.clone().map(Hook::Line);
        line.into_iter()
            .chain(found.hooks.into_iter().map(Hook::File))
            .collect()
    }

    fn run_hook(&mut self, settings: &Settings, hook: &Hook, change: &C) {
        let name = hook.name();
        let begun = Instant::now();
        let until = begun + settings.timeout;
        if self.mailbox.bell().limit(until, begun) <= begun {
            let why = "was not run: the daemon is shutting down";
            return self.report_problem(name, Some(why.to_owned()));
        }
        let mut command = hook.build_command();
        command
            .envs(settings.environment.iter().cloned())
            .envs(change.variables());
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
        let end = program::run(&mut command, &options, &mut say).map(|outcome| outcome.end);
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

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

fn describe_failure(status: ExitStatus) -> String {
    match (status.code(), status.signal().map(Signal::try_from)) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(Ok(signal))) => format!("was killed by {signal}"),
        (None, _) => format!("failed: {status}"),
    }
}
