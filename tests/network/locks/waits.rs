//! Waits for the token: messages to the waiting user, and the end of the wait.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::{Daemon, Test, Timing, binaries, tests};
use serde_json::Value;

use crate::locks::program::Running;
use crate::locks::{WAIT_LIMIT, connect, form_with, ringctl, shared_ring};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_wait_that_cannot_end_by_itself_reports_its_reason_and_each_new_reason,
        a_wait_for_another_program_prints_nothing,
        sigterm_ends_every_wait_even_if_ringctl_is_process_1,
    ]
}

/// Returns constants that make a member count as silent after 3.2 s.
fn timing() -> Timing {
    Timing::stall_tolerant(Duration::from_millis(25))
}

fn a_wait_that_cannot_end_by_itself_reports_its_reason_and_each_new_reason() -> Result<()> {
    let mut ring = form_with(3, timing())?;
    let pause = ring.daemons[0].ringctl(&["pause"])?;
    ensure!(pause.status.success(), "{pause:?}");
    let start = |arguments: &[&str]| Running::start(&mut ringctl(&ring.daemons[0], arguments));
    let paused = "ringctl: waiting for the token: this node is paused; ringctl resume";
    let mut once = start(&["once", "nightly", "--every", "1h", "--", "true"])?;
    let mut lock = start(&["lock", "--pipe"])?;
    once.expect_error(paused)?;
    lock.expect_error(paused)?;
    // The clients before this client in the queue need no quorum.
    let mut run = start(&["run", "-r", "quorum", "--", "true"])?;
    run.expect_error(paused)?;
    for gone in &mut ring.daemons[1..] {
        gone.kill()?;
    }
    let resume = ring.daemons[0].ringctl(&["resume"])?;
    ensure!(resume.status.success(), "{resume:?}");
    ensure!(!lock.line().is_empty());
    lock.signal(Signal::SIGTERM)?;
    lock.expect_signal(Signal::SIGTERM)?;
    once.expect_code(0)?;
    run.expect_error("ringctl: waiting for the token: no quorum is possible: 1 of 3 members are")?;
    ring.daemons[1].start()?;
    run.expect_code(0)
}

fn a_wait_for_another_program_prints_nothing() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    let daemon = &ring.daemons[1];
    let mut run = Running::start(&mut ringctl(daemon, &["run", "--", "true"]))?;
    wait_until_lock_is_wanted(daemon)?;
    // This command reports every reason. It reports later than the other command does.
    let mut set = Running::start(&mut ringctl(daemon, &["data", "set", "x"]))?;
    set.expect_error("ringctl: waiting for the token: held by ")?;
    holder.unlock()?;
    set.expect_code(0)?;
    let errors = run.errors();
    ensure!(!errors.contains("waiting"), "{errors}");
    run.expect_code(0)
}

/// In a container, process 1 receives only the signals for which it has a handler.
fn sigterm_ends_every_wait_even_if_ringctl_is_process_1() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut holder = connect(&ring.daemons[1])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    let daemon = &ring.daemons[0];
    let own = std::process::id().to_string();
    let waits: [&[&str]; 7] = [
        &["run", "--", "true"],
        &["once", "nightly", "--every", "1h", "--", "true"],
        &["data", "set", "x"],
        &["wait", "held"],
        &["watch"],
        &["lock", "--pipe"],
        &["lock", "--pid", &own],
    ];
    for arguments in waits {
        let mut wait = Running::start(&mut ringctl(daemon, arguments))?;
        wait_until_waiting(daemon, wait.pid(), arguments)?;
        wait.signal(Signal::SIGTERM)?;
        wait.wait().with_context(|| arguments.join(" "))?;
        has_no_clients(daemon)?;
    }
    for arguments in &waits[..5] {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child"]);
        command.arg(binaries().ringctl).arg("--socket");
        command.arg(daemon.control()).args(*arguments);
        let mut container = Running::start(&mut command)?;
        let first = child_of(container.pid())?;
        // Process 1 forwards signals from the start of the program.
        let program = child_of(first)?;
        wait_until_waiting(daemon, program, arguments)?;
        kill(first, Signal::SIGTERM)?;
        container.wait().with_context(|| arguments.join(" "))?;
        has_no_clients(daemon)?;
    }
    holder.unlock()
}

/// Waits until a command of `ringctl` waits for the lock or for an event.
fn wait_until_waiting(daemon: &Daemon, ringctl: Pid, arguments: &[&str]) -> Result<()> {
    if !matches!(arguments, ["wait" | "watch", ..]) {
        return wait_until_lock_is_wanted(daemon).with_context(|| arguments.join(" "));
    }
    let has_connected = || -> Result<bool> {
        for file in fs::read_dir(format!("/proc/{ringctl}/fd"))? {
            // The process may already have closed the file.
            let target = fs::read_link(file?.path()).unwrap_or_default();
            if target.to_string_lossy().starts_with("socket:") {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let give_up = Instant::now() + WAIT_LIMIT;
    while !has_connected()? {
        ensure!(Instant::now() < give_up, "ringctl does not connect");
        thread::yield_now();
    }
    Ok(())
}

/// Waits until a client of this daemon waits for a lock.
fn wait_until_lock_is_wanted(daemon: &Daemon) -> Result<()> {
    let count = |status: &Value| status["clients"].as_array().map_or(0, Vec::len);
    daemon.wait_for_status(WAIT_LIMIT, |status| count(status) == 1)?;
    Ok(())
}

fn has_no_clients(daemon: &Daemon) -> Result<()> {
    let none = |status: &Value| status["clients"].as_array().is_some_and(Vec::is_empty);
    daemon.wait_for_status(WAIT_LIMIT, none)?;
    Ok(())
}

/// Waits for the child of a process, and returns it.
fn child_of(parent: Pid) -> Result<Pid> {
    let give_up = Instant::now() + WAIT_LIMIT;
    loop {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
        if let Some(child) = children.split_whitespace().next() {
            return Ok(Pid::from_raw(child.parse()?));
        }
        ensure!(Instant::now() < give_up, "no child has started");
        thread::yield_now();
    }
}
