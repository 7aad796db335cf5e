//! The thread that runs the hooks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tracing::{debug, info, warn};

use super::directory;
use super::mailbox::Mailbox;
use super::process::{self, End};
use crate::daemon::change::Change;
use crate::daemon::spoken;
use crate::observe::RateLimit;
use crate::sys::{Interest, Poller, clock, nice};

/// How often is looked for hooks where there are none. What happens meanwhile is kept for them.
const PAUSE: Duration = Duration::from_secs(1);
/// Lines of hooks, and lines about hooks: what a storm of them gets at once, and in the long run.
const LINES: RateLimit = RateLimit::new(100, Duration::from_millis(100));
/// An owner without work that holds the token for less has hooks run all the time.
const CALM: Duration = Duration::from_secs(1);
/// The nice value of who asked for nothing else.
const NICE: i32 = 0;
/// How late the kernel may wake who asked for nothing else, in nanoseconds.
const TIMER_SLACK: u32 = 50_000;

/// What the hook of the command line is called in the log.
const LINE: &str = "--on-change";

/// What is run, and how.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) interface: String,
    /// The ring's name on this machine.
    pub(super) ring: String,
    /// A line for the shell.
    pub(super) command: Option<String>,
    pub(super) directory: PathBuf,
    pub(super) timeout: Duration,
    /// IDLE_HOLD.
    pub(super) idle_hold: Duration,
}

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

#[derive(Debug)]
pub(super) struct Runner {
    settings: Settings,
    mailbox: Arc<Mailbox>,
    poller: Poller,
    lines: RateLimit,
    complaints: RateLimit,
    /// What is wrong with a hook, as it was said last.
    problems: BTreeMap<String, String>,
    /// The word about restless tokens was said.
    warned: bool,
}

impl Runner {
    /// # Errors
    /// The process has too many files open.
    pub(super) fn new(settings: Settings, mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(&*mailbox, 0, Interest::Read)?;
        Ok(Self {
            settings,
            mailbox,
            poller,
            lines: LINES,
            complaints: LINES,
            problems: BTreeMap::new(),
            warned: false,
        })
    }

    /// Runs hooks until the mailbox is closed.
    pub(super) fn run(mut self) {
        // What is good for a hop is too much for hooks, which inherit it.
        if let Err(error) = nice::at_least(NICE).and_then(|()| clock::timer_slack(TIMER_SLACK)) {
            debug!(
                event = "hooks_favoured",
                "hooks run with ringd's own share of the CPU: {error}"
            );
        }
        while let Some(change) = self.mailbox.next(&mut self.poller) {
            let hooks = self.hooks();
            if hooks.is_empty() {
                self.mailbox.rest(&mut self.poller, PAUSE);
                continue;
            }
            self.warn_of_restless_token();
            for hook in hooks {
                self.tell(&hook, &change);
            }
        }
    }

    /// The hooks as they are now.
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

    fn warn_of_restless_token(&mut self) {
        let hold = self.settings.idle_hold;
        if hold < CALM && !self.warned {
            warn!(
                event = "hooks_restless",
                "hooks run at every turn of the token, which an idle owner passes on after {}: for a \
                 leader that stays give all members --idle-hold forever",
                spoken(hold)
            );
        }
        self.warned = true;
    }

    fn tell(&mut self, hook: &Hook, change: &Change) {
        let name = hook.name();
        let begun = Instant::now();
        let until = begun + self.settings.timeout;
        if self.mailbox.limit(until, begun) <= begun {
            let why = "was not run: ringd is shutting down";
            return self.judge(name, Some(why.to_owned()));
        }
        let mut command = hook.command();
        command
            .env("RINGD_INTERFACE", &self.settings.interface)
            .env("RINGD_RING", &self.settings.ring)
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
        let end = process::run(&mut command, until, &self.mailbox, &mut say);
        let took = begun.elapsed();
        debug!(
            event = "hook_ran",
            hook = name,
            number = change.number,
            "hook {name} ran for {took:?} at event {}",
            change.number
        );
        let problem = self.problem(end, Instant::now() < until);
        self.judge(name, problem);
    }

    fn problem(&self, end: io::Result<End>, in_time: bool) -> Option<String> {
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
            Ok(End::Late) if in_time => says(&"was ended: ringd is shutting down"),
            Ok(End::Late) => says(&format_args!(
                "did not end within {} and was ended (--hook-timeout)",
                spoken(self.settings.timeout)
            )),
            Ok(End::Stuck) => says(&"was killed but does not end: later hooks run beside it"),
        }
    }

    /// Says what is wrong with a hook, or that nothing is any more, if that is new.
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
