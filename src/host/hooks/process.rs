//! One running hook: its output, and its end, by itself or not.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open};

use super::output::{Lines, Stream};
use crate::host::worker::Bell;
use crate::sys::{Interest, Poller, Tree, child};

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// The time after SIGKILL in which it has to be gone. A process that hangs in the kernel stays.
const LAST_BREATH: Duration = Duration::from_secs(1);
/// The time between two looks at what it has left behind.
const LOOK: Duration = Duration::from_millis(10);

/// How much a hook's badness exceeds the daemon's, in thousandths of the memory there is.
const SOONER: i32 = 500;

const BELL: u64 = 0;
const EXIT: u64 = 1;
const OUTLETS: u64 = 2;

/// How a hook ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, and with it all that it had started in its process group.
    Exit(ExitStatus),
    /// By itself; the rest of its process group had to be ended.
    LeftBehind(ExitStatus),
    /// It was ended at its deadline.
    Late,
    /// It was killed, and is still there.
    Stuck,
}

/// Runs a hook until `until`, or less long if the bell says so. Passes its output to `say`.
///
/// # Errors
/// It cannot be started.
pub(super) fn run(
    command: &mut Command,
    until: Instant,
    bell: &Bell,
    say: &mut dyn FnMut(&str),
) -> io::Result<End> {
    let process = Process::start(command, bell)?;
    Ok(process.run(until, bell, say))
}

/// Which signals it was sent.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Nothing,
    /// SIGTERM, at this time.
    Told(Instant),
    /// SIGKILL, at this time.
    Killed(Instant),
}

/// One of its output streams.
#[derive(Debug)]
struct Outlet {
    pipe: fs::File,
    lines: Lines,
}

#[derive(Debug)]
struct Process {
    child: Child,
    tree: Tree,
    /// Readable when it has ended: kept open for the poller.
    _exit: OwnedFd,
    poller: Poller,
    outlets: Vec<Option<Outlet>>,
}

impl Process {
    fn start(command: &mut Command, bell: &Bell) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(bell, BELL, Interest::Read)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            // The service manager must not take its messages for the daemon's.
            .env_remove("NOTIFY_SOCKET");
        child::detach(command);
        let mut hook = command.spawn()?;
        spare_the_daemon(hook.id());
        let pid = i32::try_from(hook.id()).map_err(io::Error::other)?;
        let watched = watch(&mut hook, &poller);
        let (exit, outlets) = watched.inspect_err(|_| {
            // A hook that cannot be watched must not run.
            let _ = hook.kill();
            let _ = hook.wait();
        })?;
        Ok(Self {
            child: hook,
            tree: Tree::of(Pid::from_raw(pid), None),
            _exit: exit,
            poller,
            outlets,
        })
    }

    fn run(mut self, until: Instant, bell: &Bell, say: &mut dyn FnMut(&str)) -> End {
        let mut stage = Stage::Nothing;
        let ended = loop {
            let now = Instant::now();
            let limit = match stage {
                Stage::Nothing => bell.limit(until, now),
                Stage::Told(_) if bell.closes_now() => now,
                Stage::Told(at) => at + GRACE,
                Stage::Killed(at) => at + LAST_BREATH,
            };
            if now < limit {
                if self.wait(limit - now, bell, say) {
                    break self.child.wait().ok();
                }
                continue;
            }
            stage = match stage {
                Stage::Nothing => {
                    self.tree.terminate();
                    Stage::Told(now)
                }
                Stage::Told(_) => {
                    // A process that this one may not kill counts as stuck as well.
                    let _ = self.tree.kill();
                    Stage::Killed(now)
                }
                Stage::Killed(_) => return End::Stuck,
            };
        };
        for outlet in self.outlets.iter_mut().flatten() {
            // Processes outside its group may keep the stream open: read what is there and no more.
            outlet.lines.read(&mut outlet.pipe, say);
            outlet.lines.flush(say);
        }
        let left = end_rest(&self.tree, bell);
        match (stage, ended) {
            (Stage::Nothing, Some(status)) if left => End::LeftBehind(status),
            (Stage::Nothing, Some(status)) => End::Exit(status),
            _ => End::Late,
        }
    }

    /// Waits for an event, at most for `timeout`. Returns whether the hook has ended.
    fn wait(&mut self, timeout: Duration, bell: &Bell, say: &mut dyn FnMut(&str)) -> bool {
        // A failure, which no healthy system shows, is no more than a wake-up.
        let _ = self.poller.wait(Some(timeout));
        let mut ended = false;
        for ready in self.poller.ready() {
            match ready.key {
                BELL => bell.silence(),
                EXIT => ended = true,
                key => {
                    let at = usize::try_from(key - OUTLETS).unwrap_or(usize::MAX);
                    let Some(slot) = self.outlets.get_mut(at) else {
                        continue;
                    };
                    let over = slot.as_mut().is_none_or(|outlet| {
                        outlet.lines.read(&mut outlet.pipe, say) == Stream::Ended
                    });
                    if over {
                        // Closed, and so removed from the poller.
                        *slot = None;
                    }
                }
            }
        }
        ended
    }
}

/// What the poller waits for.
fn watch(child: &mut Child, poller: &Poller) -> io::Result<(OwnedFd, Vec<Option<Outlet>>)> {
    let exit = pidfd_open(rustix::process::Pid::from_child(child), PidfdFlags::empty())?;
    poller.add(&exit, EXIT, Interest::Read)?;
    let streams = [
        child.stdout.take().map(OwnedFd::from),
        child.stderr.take().map(OwnedFd::from),
    ];
    let mut outlets = Vec::new();
    for (key, pipe) in (OUTLETS..).zip(streams.into_iter().flatten()) {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        poller.add(&pipe, key, Interest::Read)?;
        outlets.push(Some(Outlet {
            pipe: pipe.into(),
            lines: Lines::default(),
        }));
    }
    Ok((exit, outlets))
}

/// Has the kernel kill the hook before the daemon where memory is short.
fn spare_the_daemon(hook: u32) {
    let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    let own: i32 = own.trim().parse().unwrap_or_default();
    let more = (own + SOONER).min(1000).to_string();
    // Raising the score needs no right, and an ended process needs no memory.
    let _ = fs::write(format!("/proc/{hook}/oom_score_adj"), more);
}

/// Ends what an ended hook has left in its process group. Returns `false` if nothing was left.
fn end_rest(tree: &Tree, bell: &Bell) -> bool {
    if tree.is_empty() {
        return false;
    }
    tree.terminate();
    let told = Instant::now();
    while told.elapsed() < GRACE && !bell.closes_now() {
        if tree.is_empty() {
            return true;
        }
        thread::sleep(LOOK);
    }
    // A process that this one may not kill stays.
    let _ = tree.kill();
    let killed = Instant::now();
    while killed.elapsed() < LAST_BREATH && !tree.is_empty() {
        thread::sleep(LOOK);
    }
    true
}
