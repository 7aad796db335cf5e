//! A ring of a version without named locks, which is upgraded one machine after another while programs use its token.
//!
//! If the environment variable `RINGD_PREVIOUS` contains the path of a `ringd`, this daemon is the previous version.
//! Otherwise the previous version is the present daemon behind a switch. The switch removes everything about named
//! locks from the frames of this daemon, and from the frames to this daemon. `scripts/test-upgrade` builds a previous
//! version and sets the variable.

use std::env;
use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Binaries, Daemon, Layout, Segment, Test, WAIT_LIMIT, binaries, invariants, limit, tests,
};
use tempfile::TempDir;

use super::{Marks, text};
use crate::locks::program::Running;
use crate::locks::{ringctl, timing};

const QUORUM: &[&str] = &["-r", "quorum"];
/// Exit code of commands that got a lock.
const DONE_CODE: i32 = 7;
const LATE_CODE: i32 = 9;

pub(super) fn tests() -> Vec<Test> {
    // The test stops daemons itself.
    let tests = tests![a_ring_without_named_locks_is_upgraded_under_load_and_one_member_goes_back];
    tests.into_iter().map(Test::without_stalls).collect()
}

fn previous_program() -> Option<&'static str> {
    let path = env::var("RINGD_PREVIOUS").ok()?;
    Some(Box::leak(path.into_boxed_str()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Previous,
    Present,
}

/// Machines with daemons, whose state directories survive an upgrade.
struct Machines {
    daemons: Vec<Daemon>,
    programs: Vec<Arc<Program>>,
    threads: Vec<Option<JoinHandle<Result<()>>>>,
    folder: TempDir,
    segment: Segment,
}

/// A program that runs on a machine, and takes the token of the ring again and again.
#[derive(Default)]
struct Program {
    is_over: AtomicBool,
    runs: AtomicUsize,
}

impl Machines {
    fn start(count: usize) -> Result<Self> {
        let mut machines = Self {
            daemons: Vec::new(),
            programs: Vec::new(),
            threads: Vec::new(),
            folder: tempfile::tempdir()?,
            segment: Layout::new(count).addresses().switch(1)?,
        };
        for at in 0..count {
            fs::create_dir(machines.folder.path().join(at.to_string()))?;
            let daemon = machines.start_daemon(at, Version::Previous)?;
            machines.daemons.push(daemon);
        }
        for at in 0..count {
            machines.wait_until_complete(at)?;
            machines.programs.push(Arc::default());
            machines.threads.push(None);
            machines.start_program(at)?;
        }
        Ok(machines)
    }

    fn start_daemon(&self, at: usize, version: Version) -> Result<Daemon> {
        let (is_previous, present) = (version == Version::Previous, binaries());
        let program = previous_program().filter(|_| is_previous);
        let is_old_by_rule = is_previous && program.is_none();
        self.segment.rules().set(|rules| {
            if is_old_by_rule {
                rules.without_named_locks.insert(at);
            } else {
                rules.without_named_locks.remove(&at);
            }
        });
        let ringd = self.segment.node(at).ringd(Binaries {
            ringd: program.unwrap_or(present.ringd),
            ..present
        });
        let state = self.folder.path().join(at.to_string());
        let size = self.segment.nodes().len().to_string();
        let ringd = ringd.timing(&timing()).option("--ring-size", size);
        ringd.option("--state-dir", state).spawn()
    }

    /// Waits until a daemon knows the whole ring and is healthy, like an operator between two steps of an upgrade.
    fn wait_until_complete(&self, at: usize) -> Result<()> {
        let count = self.segment.nodes().len();
        self.daemons[at].wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array().map(Vec::len);
            members == Some(count) && status["quorum"]["present"] == count
        })?;
        Ok(())
    }

    /// Returns the shell line of a command that notices a second holder of the token.
    fn token_line(&self, work: &str) -> Result<String> {
        let mark = self.folder.path().join("mark");
        let mark = text(&mark)?;
        Ok(format!("exec 9> {mark}; flock -n 9 || exit 99; {work}"))
    }

    fn start_program(&mut self, at: usize) -> Result<()> {
        let program = Arc::clone(&self.programs[at]);
        program.is_over.store(false, Ordering::Relaxed);
        let line = self.token_line("sleep 0.02")?;
        let arguments = ["run", "-r", "quorum", "--", "sh", "-c", &line];
        let mut command = ringctl(&self.daemons[at], &arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let work = move || {
            while !program.is_over.load(Ordering::Relaxed) {
                let output = command.output()?;
                ensure!(output.status.success(), "machine {at}: {output:?}");
                program.runs.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        self.threads[at] = Some(thread::spawn(work));
        Ok(())
    }

    fn end_program(&mut self, at: usize) -> Result<()> {
        self.programs[at].is_over.store(true, Ordering::Relaxed);
        let Some(thread) = self.threads[at].take() else {
            return Ok(());
        };
        (thread.join()).map_err(|_| anyhow!("the program of machine {at} panicked"))?
    }

    /// Replaces a daemon as in `docs/operations/upgrade.md`, while a program on another machine holds the token.
    fn replace_daemon(&mut self, at: usize, version: Version) -> Result<()> {
        self.end_program(at)?;
        let drained = self.daemons[at].ringctl(&["pause", "--drain", "--wait"])?;
        ensure!(drained.status.success(), "{drained:?}");
        let holder = (at + 1) % self.daemons.len();
        let line = self.token_line("echo ready; read line; exit 7")?;
        let arguments = ["run", "-r", "quorum", "--", "sh", "-c", &line];
        let mut command = ringctl(&self.daemons[holder], &arguments);
        let mut holding = Running::start(command.stdin(Stdio::piped()))?;
        holding.expect_line("ready")?;
        self.daemons[at].signal(Signal::SIGTERM)?;
        let status = self.daemons[at].wait_exit(WAIT_LIMIT)?;
        ensure!(status.success(), "machine {at}: {status}");
        self.daemons[at] = self.start_daemon(at, version)?;
        self.wait_until_complete(at)?;
        holding.close_input();
        holding
            .expect_code(DONE_CODE)
            .with_context(|| format!("the holder during the restart of machine {at}"))?;
        self.start_program(at)?;
        self.wait_for_runs();
        Ok(())
    }

    /// Waits until the program of each machine has got the token again.
    fn wait_for_runs(&self) {
        for program in &self.programs {
            let runs = || program.runs.load(Ordering::Relaxed);
            let before = runs();
            limit::wait_until("another run under the token", || runs() > before);
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for program in &self.programs {
            program.is_over.store(true, Ordering::Relaxed);
        }
    }
}

fn a_ring_without_named_locks_is_upgraded_under_load_and_one_member_goes_back() -> Result<()> {
    let mut machines = Machines::start(3)?;
    let marks = Marks::new()?;
    if previous_program().is_some() {
        // A new ringctl may meet an old daemon between the installation and the restart.
        let mut refused = marks.start(&machines.daemons[0], "lock", &[], "exit 98")?;
        refused.expect_error("this ringd has no named locks")?;
        refused.expect_code(1)?;
    }

    machines.replace_daemon(0, Version::Present)?;
    // After this time, all members of an upgraded ring agree to locks, and each member has been OWNER.
    let settled = 6 * timing().waiter_timeout();
    let wait = settled.as_secs_f64().to_string();
    let limited = [QUORUM, &["-w", &wait, "-E", "9"]].concat();
    let mut limited = marks.start(&machines.daemons[0], "lock", &limited, "exit 98")?;
    limited.expect_code(LATE_CODE)?;

    let mut waiting = marks.start(&machines.daemons[0], "lock", QUORUM, "exit 7")?;
    machines.replace_daemon(1, Version::Present)?;
    waiting.expect_code(DONE_CODE)?;

    machines.replace_daemon(2, Version::Present)?;
    let mut next = marks.start(&machines.daemons[2], "lock", QUORUM, "exit 7")?;
    next.expect_code(DONE_CODE)?;

    let mut holding = marks.hold_until_input_ends(&machines.daemons[0], "lock", QUORUM)?;
    machines.replace_daemon(2, Version::Previous)?;
    let mut next = marks.start(&machines.daemons[1], "lock", QUORUM, "exit 7")?;
    // If the old member harmed the renewals, the lease would end within this time.
    thread::sleep(settled);
    machines.wait_for_runs();
    holding.close_input();
    holding.expect_code(DONE_CODE)?;
    next.expect_code(DONE_CODE)?;
    let mut other = marks.start(&machines.daemons[1], "other", &[], "exit 7")?;
    other.expect_code(DONE_CODE)?;

    for at in 0..3 {
        machines.end_program(at)?;
    }
    let mut frames = machines.segment.capture().frames();
    frames.sort_by_key(|seen| seen.at);
    invariants::check_all(&frames)
}
