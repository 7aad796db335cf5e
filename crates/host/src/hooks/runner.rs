//! The thread that runs the hooks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use ring_runtime::clock;
use ring_runtime::wait::Poller;
use ring_runtime::worker::Mailbox;
use ring_text::format_duration;
use tracing::{debug, info, warn};

use super::{Change, Queue, Settings, directory};
use crate::observe::RateLimit;
use crate::program::{self, End, Terms};

/// The time between two looks for hooks while there are none. Events in between are kept for them.
const PAUSE: Duration = Duration::from_secs(1);
/// Rate limits for lines of hooks and for lines about hooks: the burst, and the rate in the long run.
const LINES: RateLimit = RateLimit::new(100, Duration::from_millis(100));

/// The name of the command line's hook in the log.
const LINE: &str = "--on-change";

/// One of the hooks.
#[derive(Debug, Clone)]
enum Hook {
    Line(String),
    File(PathBuf),
}

impl Hook {
    fn name(&self) -> String {
        match self {
            Self::Line(_) => LINE.to_owned(),
            Self::File(path) => shown(path),
        }
    }

    fn command(&self) -> Command {
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

/// Runs hooks in the worker's thread.
#[derive(Debug)]
pub(super) struct Runner<'a, C> {
    settings: Settings,
    mailbox: &'a Mailbox<Queue<C>>,
    poller: Poller,
    lines: RateLimit,
    complaints: RateLimit,
    /// What is wrong with a hook, as last logged.
    problems: BTreeMap<String, String>,
}

impl<'a, C: Change> Runner<'a, C> {
    pub(super) const fn new(
        settings: Settings,
        mailbox: &'a Mailbox<Queue<C>>,
        poller: Poller,
    ) -> Self {
        Self {
            settings,
            mailbox,
            poller,
            lines: LINES,
            complaints: LINES,
            problems: BTreeMap::new(),
        }
    }

    /// Runs hooks until the mailbox is closed.
    pub(super) fn run(mut self) {
        while let Some(change) = self.mailbox.next(&mut self.poller) {
            let hooks = self.hooks();
            if hooks.is_empty() {
                self.mailbox.rest(&mut self.poller, PAUSE);
                continue;
            }
            if let Some(restless) = self.settings.restless.take() {
                warn!(event = "hooks_restless", "{restless}");
            }
            for hook in hooks {
                self.tell(&hook, &change);
            }
        }
    }

    /// Returns the hooks as they are now.
    fn hooks(&mut self) -> Vec<Hook> {
        let found = directory::look(&self.settings.directory);
        let known = found.problems.iter().map(|(path, _)| path);
        let known: BTreeSet<_> = known.chain(&found.hooks).map(|path| shown(path)).collect();
        self.problems
            .retain(|name, _| name == LINE || known.contains(name));
        for (path, why) in found.problems {
            self.judge(shown(&path), Some(why));
        }
        let line = self.settings.command.clone().map(Hook::Line);
        line.into_iter()
            .chain(found.hooks.into_iter().map(Hook::File))
            .collect()
    }

    fn tell(&mut self, hook: &Hook, change: &C) {
        let name = hook.name();
        let begun = Instant::now();
        let until = begun + self.settings.timeout;
        if self.mailbox.bell().limit(until, begun) <= begun {
            let why = "was not run: the daemon is shutting down";
            return self.judge(name, Some(why.to_owned()));
        }
        let mut command = hook.command();
        command
            .envs(self.settings.environment.iter().cloned())
            .envs(change.environment());
        let lines = &mut self.lines;
        let mut say = |line: &str| {
            if lines.allow(clock::now().monotonic) {
                let more = match lines.take_refused() {
                    0 => String::new(),
                    lines => format!(" ({lines} lines before it not shown)"),
                };
                info!(
                    event = "hook_said",
                    hook = name,
                    "hook {name}: {line}{more}"
                );
            }
        };
        let terms = Terms {
            input: None,
            capture: None,
            until,
            bell: self.mailbox.bell(),
        };
        let end = program::run(&mut command, &terms, &mut say).map(|outcome| outcome.end);
        let took = begun.elapsed();
        let number = change.head().number;
        debug!(
            event = "hook_ran",
            hook = name,
            number,
            "hook {name} ran for {took:?} at event {number}"
        );
        let problem = self.problem(end);
        self.judge(name, problem);
    }

    fn problem(&self, end: io::Result<End>) -> Option<String> {
        let says = |text: &dyn Display| Some(text.to_string());
        match end {
            Err(error) => says(&format_args!("cannot be started: {error}")),
            Ok(End::Exit(status) | End::LeftBehind(status)) if !status.success() => {
                Some(failure(status))
            }
            Ok(End::Exit(_)) => None,
            Ok(End::LeftBehind(_)) => {
                says(&"left processes behind, which were ended: start with setsid what is to go on")
            }
            Ok(End::Cancelled) => says(&"was ended: the daemon is shutting down"),
            Ok(End::Late) => says(&format_args!(
                "did not end within {} and was ended (--hook-timeout)",
                format_duration(self.settings.timeout)
            )),
            Ok(End::Stuck) => says(&"was killed but does not end: later hooks run beside it"),
        }
    }

    /// Logs what is wrong with a hook, or that it is in order again, if that is new.
    fn judge(&mut self, name: String, problem: Option<String>) {
        if self.problems.get(&name) == problem.as_ref() {
            return;
        }
        let admitted = self.complaints.allow(clock::now().monotonic);
        if let Some(problem) = problem {
            if admitted {
                warn!(
                    event = "hook_failed",
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
                    event = "hook_recovered",
                    hook = name,
                    "hook {name} works again"
                );
            }
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn failure(status: ExitStatus) -> String {
    match (status.code(), status.signal().map(Signal::try_from)) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(Ok(signal))) => format!("was killed by {signal}"),
        (None, _) => format!("failed: {status}"),
    }
}
