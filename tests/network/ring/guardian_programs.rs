//! Guardians of daemons whose programs hold locks.

use std::fs::File;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::{
    LONG_IDLE_HOLD, Message, Ring, Seen, Test, Timing, WAIT_LIMIT, binaries, is_heartbeat, now,
    tests,
};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::guardian::{form, frames_of, quick_timing, wait_until_idle};
use crate::locks::program::Running;
use crate::locks::{Client, ringctl};

/// The time that the command of a test needs to end.
const END_TIME: Duration = Duration::from_millis(300);
/// A shell line that needs this time.
const SLOW_TO_END: &str = "trap 'sleep 0.3; exit 0' TERM; echo ready; sleep 1000 & wait";
const NEVER_ENDS: &str = "trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000";
/// The exit code of a daemon that another daemon excludes.
const IN_USE_CODE: i32 = 6;

pub(super) fn tests() -> Vec<Test> {
    // A stall of a daemon may end its lease.
    let tests = tests![
        the_guardian_hands_the_token_over_after_the_command_has_ended,
        the_guardian_waits_for_the_command_of_a_named_lock,
        the_guardian_waits_for_a_command_that_ignores_sigterm,
        the_guardian_sends_nothing_if_a_keeper_was_killed,
        a_daemon_with_other_files_is_refused_while_the_guardian_works,
        a_daemon_that_is_started_again_at_once_waits_for_the_guardian,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Returns constants with which the lease of an owner lasts for 6 s.
fn long_lease() -> Timing {
    Timing {
        take_timeout: Duration::from_millis(50),
        ..Timing::stall_tolerant(Duration::from_millis(500)).idle_hold(LONG_IDLE_HOLD)
    }
}

/// A command that `ringctl run` has started on the machine of the owner.
struct Work {
    run: Running,
    /// A file that is locked while a process of the command lives.
    mark: NamedTempFile,
}

impl Work {
    fn start(ring: &Ring, owner: usize, options: &[&str], line: &str) -> Result<Self> {
        let mark = NamedTempFile::new()?;
        let line = format!("exec 9> {}; flock -n 9; {line}", mark.path().display());
        let arguments = [&["run"], options, &["--", "sh", "-c", &line]].concat();
        let mut run = Running::start(&mut ringctl(&ring.daemons[owner], &arguments))?;
        run.expect_line("ready")?;
        wait_until_idle(ring, owner)?;
        Ok(Self { run, mark })
    }

    fn check_ended(&self) -> Result<()> {
        let mark = File::open(self.mark.path())?;
        let locked = Flock::lock(mark, FlockArg::LockExclusiveNonblock);
        ensure!(locked.is_ok(), "a process of the command is left");
        Ok(())
    }
}

/// Kills the daemon of the owner, and waits until another member has the token. Then the command must have ended.
/// Returns the time since the kill.
fn crash(ring: &mut Ring, owner: usize, work: &Work) -> Result<Duration> {
    let mark = ring.segment.capture().mark();
    let killed = now();
    ring.daemons[owner].crash()?;
    let taken = ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && matches!(seen.message, Message::TokenIsHere { .. })
    })?;
    work.check_ended()?;
    let took = taken.at.saturating_sub(killed);
    println!("the next owner answered {took:?} after the kill");
    let offers = frames_of(ring, mark, owner)
        .into_iter()
        .filter(|seen| seen.at > killed && matches!(seen.message, Message::TakeToken { .. }));
    ensure!(offers.count() > 0, "the guardian has sent no offer");
    Ok(took)
}

fn the_guardian_hands_the_token_over_after_the_command_has_ended() -> Result<()> {
    let (mut ring, owner) = form(long_lease(), |ringd| ringd)?;
    let mut work = Work::start(&ring, owner, &[], SLOW_TO_END)?;
    let mut next = Client::connect(&ring.daemons[(owner + 1) % 3].control())?;
    next.lock("next")?;
    let took = crash(&mut ring, owner, &work)?;
    ensure!(
        took >= END_TIME && took < long_lease().waiter_timeout() / 2,
        "it took {took:?}"
    );
    next.expect("granted")?;
    work.run.wait()?;
    next.unlock()?;
    ring.daemons[owner].start()?;
    ring.wait_for_equal_tables()?;
    ring.check()
}

fn the_guardian_waits_for_the_command_of_a_named_lock() -> Result<()> {
    let (mut ring, owner) = form(long_lease(), |ringd| ringd)?;
    let work = Work::start(&ring, owner, &["--name", "backup"], SLOW_TO_END)?;
    let took = crash(&mut ring, owner, &work)?;
    ensure!(
        took >= END_TIME && took < long_lease().waiter_timeout() / 2,
        "it took {took:?}"
    );
    Ok(())
}

/// Its keeper kills the command before the end of the lease.
fn the_guardian_waits_for_a_command_that_ignores_sigterm() -> Result<()> {
    let (mut ring, owner) = form(long_lease(), |ringd| ringd)?;
    let work = Work::start(&ring, owner, &["--kill-after", "1h"], NEVER_ENDS)?;
    let took = crash(&mut ring, owner, &work)?;
    let lease = long_lease().waiter_timeout();
    ensure!(took > lease / 2 && took < lease, "it took {took:?}");
    Ok(())
}

fn holder(ring: &Ring, owner: usize) -> Result<Pid> {
    let status = ring.daemons[owner].status()?;
    let holds = |client: &&Value| client["holds"] == true;
    let clients = status["clients"].as_array().context("a list")?;
    let pid = clients.iter().find(holds).and_then(|it| it["pid"].as_i64());
    Ok(Pid::from_raw(i32::try_from(pid.context("a process")?)?))
}

/// The close of a life line is no report of an end.
fn the_guardian_sends_nothing_if_a_keeper_was_killed() -> Result<()> {
    let (mut ring, owner) = form(quick_timing(), |ringd| ringd)?;
    let work = Work::start(&ring, owner, &["--kill-after", "1h"], NEVER_ENDS)?;
    let keeper = holder(&ring, owner)?;
    wait_until_idle(&ring, owner)?;
    let (mark, killed) = (ring.segment.capture().mark(), now());
    ring.daemons[owner].crash()?;
    kill(keeper, Signal::SIGKILL)?;
    let heartbeat = ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && is_heartbeat(seen)
    })?;
    work.check_ended()?;
    let took = heartbeat.at.saturating_sub(killed);
    let silence = quick_timing().waiter_timeout() - quick_timing().heartbeat;
    ensure!(took >= silence, "the owner was replaced after {took:?}");
    let sent = frames_of(&ring, mark, owner);
    let last = sent.iter().find(|seen: &&Seen| seen.at > killed);
    ensure!(last.is_none(), "the guardian sent {last:?}");
    Ok(())
}

/// The lock file of a daemon does not exclude a daemon of another user or container. The socket of the guardian does.
fn a_daemon_with_other_files_is_refused_while_the_guardian_works() -> Result<()> {
    let (mut ring, owner) = form(long_lease(), |ringd| ringd)?;
    let _work = Work::start(&ring, owner, &["--kill-after", "1h"], NEVER_ENDS)?;
    ring.daemons[owner].crash()?;
    let elsewhere = "mkdir -p /run/ringd && mount -t tmpfs tmpfs /run/ringd && exec \"$@\"";
    let elsewhere = ["unshare", "--mount", "sh", "-c", elsewhere, "sh"];
    let other = ring.segment.node(owner).ringd(binaries());
    let mut other = other.timing(&long_lease()).through(elsewhere).spawn()?;
    let exit = other.wait_exit(WAIT_LIMIT)?;
    ensure!(exit.code() == Some(IN_USE_CODE), "{exit}");
    // The guardian ends with the lease.
    thread::sleep(long_lease().waiter_timeout());
    other.start()?;
    other.wait_for_status(WAIT_LIMIT, |status| status["state"] != "LOOSER")?;
    Ok(())
}

fn a_daemon_that_is_started_again_at_once_waits_for_the_guardian() -> Result<()> {
    let (mut ring, owner) = form(long_lease(), |ringd| ringd)?;
    let work = Work::start(&ring, owner, &[], SLOW_TO_END)?;
    let mark = ring.segment.capture().mark();
    let killed = now();
    ring.daemons[owner].crash()?;
    ring.daemons[owner].start()?;
    ring.daemons[owner].wait_for_status(WAIT_LIMIT, |_| true)?;
    let started = now().saturating_sub(killed);
    ensure!(started >= END_TIME, "it started after {started:?}");
    work.check_ended()?;
    let is_leaving = |seen: &Seen| seen.port == owner && seen.message == Message::Leaving;
    let capture = ring.segment.capture();
    capture.wait_from(mark, Duration::ZERO, is_leaving)?;
    ring.wait_for_one_owner(killed)?;
    Ok(())
}
