//! Locks that end without a release, and the beginning of the next lock.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use ring_segment::{Case, Daemon, Ring, Test, Timing, side_by_side, tests};
use serde_json::{Value, json};

use crate::locks::scene::LockScene;
use crate::locks::{
    HEARTBEAT, LOST_CODE, WAIT_LIMIT, clients, connect, form, form_with, ringctl, shared_ring,
    wait_for, wait_until_held,
};
use crate::recipes::pages::{PYTHON, block};

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_work_ends_when_its_daemon_crashes_and_the_restarted_daemon_shows_no_holder,
        exclusive a_holder_whose_daemon_is_stopped_ends_before_another_begins,
        a_planned_stop_waits_for_the_holder,
        a_holder_that_does_not_learn_of_a_yield_keeps_the_token_until_its_lease_ends,
        no_lock_is_granted_before_an_earlier_owners_lease_ends,
        no_lock_is_granted_shortly_after_the_link_came_up,
        the_token_can_be_sent_to_a_member,
        the_client_in_the_manual_works_and_ends_with_its_lock,
    ]
}

fn the_work_ends_when_its_daemon_crashes_and_the_restarted_daemon_shows_no_holder() -> Result<()> {
    let mut ring = form(2)?;
    let mut run = ringctl(&ring.daemons[0], &["run", "--", "sleep", "1000"]).spawn()?;
    wait_until_held(&ring.daemons[0])?;
    ring.daemons[0].kill()?;
    ensure!(wait_for(&mut run)? == Some(LOST_CODE));
    ring.daemons[0].start()?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| {
        status["state"] == "WAITER" || status["state"] == "OWNER"
    })?;
    ensure!(
        clients(&ring.daemons[0])?.is_empty(),
        "no client holds the token"
    );
    let mut next = connect(&ring.daemons[0])?;
    next.lock("next")?;
    next.expect("granted").map(drop)
}

/// A stopped daemon does not renew the lease, and does not report its end. Two rings run in parallel, so that their
/// waits overlap.
fn a_holder_whose_daemon_is_stopped_ends_before_another_begins() -> Result<()> {
    let cases: [Case; 2] = [
        ("a command", a_command_whose_daemon_is_stopped),
        ("the client in the manual", a_client_whose_daemon_is_stopped),
    ];
    side_by_side(&cases)
}

fn a_command_whose_daemon_is_stopped() -> Result<()> {
    let scene = LockScene::on_its_own_ring(3)?;
    let mut run = scene.start_work(&[], "sleep 1000 & echo ready; wait")?;
    let next = scene.start_next()?;
    scene.first().signal(Signal::SIGSTOP)?;
    next.check_begins_alone()?;
    run.expect_code(LOST_CODE)
}

fn a_planned_stop_waits_for_the_holder() -> Result<()> {
    let mut ring = form(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    let mut next = connect(&ring.daemons[1])?;
    next.lock("next")?;
    ring.daemons[0].signal(Signal::SIGTERM)?;
    let lost = holder.expect("lost")?;
    ensure!(lost["why"] == "shutdown", "{lost}");
    holder.unlock()?;
    next.expect("granted")?;
    let status = ring.daemons[0].wait_exit(WAIT_LIMIT)?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// A stopped `ringctl run` does not learn of a yield. Its work ends when the lease expires.
fn a_holder_that_does_not_learn_of_a_yield_keeps_the_token_until_its_lease_ends() -> Result<()> {
    // The lease is much longer than the second within which a holder must release the token.
    let heartbeat = Duration::from_secs(1);
    let ring = form_with(2, Timing::tolerant(heartbeat).idle_hold(heartbeat))?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("does not listen")?;
    let mut until = lease_end(&holder.expect("granted")?)?;
    let mut next = connect(&ring.daemons[1])?;
    next.lock("next")?;
    let yields = ringctl(&ring.daemons[0], &["yield"]).output()?;
    ensure!(yields.status.success(), "{yields:?}");
    loop {
        let answer = holder.receive()?;
        match answer.get("renewed") {
            Some(renewed) => until = lease_end(renewed)?,
            None => break ensure!(answer.get("lost").is_some(), "{answer}"),
        }
    }
    next.expect("granted")?;
    let granted = boottime()?;
    ensure!(
        granted >= until,
        "the holder had a lease until {until:?}, but the next client got the token at {granted:?}"
    );
    Ok(())
}

/// Returns the end of the lease in a grant or renewal.
fn lease_end(message: &Value) -> Result<Duration> {
    let until = message["until_ns"].as_u64().context("a time")?;
    Ok(Duration::from_nanos(until))
}

fn boottime() -> Result<Duration> {
    Ok(Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME)?))
}

/// Returns constants that let a new member hear of the token before WAITER_TIMEOUT ends. A faulty daemon could then
/// grant the lock too early.
fn short_timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(HEARTBEAT)
}

/// A daemon may not know an earlier owner just after its start. A lock holder on that owner's machine still relies on
/// its lease.
fn no_lock_is_granted_before_an_earlier_owners_lease_ends() -> Result<()> {
    let mut ring = form_with(3, short_timing())?;
    ring.daemons[0].kill()?;
    let begun = boottime()?;
    ring.daemons[0].start()?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |_| true)?;
    is_granted_late(&ring, begun)
}

fn no_lock_is_granted_shortly_after_the_link_came_up() -> Result<()> {
    let ring = form_with(3, short_timing())?;
    ring.segment.lose_carrier(0)?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    let begun = boottime()?;
    ring.segment.regain_carrier(0)?;
    is_granted_late(&ring, begun)
}

/// Checks that the first node gets the token not earlier than WAITER_TIMEOUT after `begun`.
fn is_granted_late(ring: &Ring, begun: Duration) -> Result<()> {
    let mut client = connect(&ring.daemons[0])?;
    client.lock("early")?;
    client.expect("granted")?;
    let waited = boottime()?.saturating_sub(begun);
    let lease = short_timing().waiter_timeout();
    ensure!(waited >= lease, "granted after {waited:?}");
    Ok(())
}

fn the_token_can_be_sent_to_a_member() -> Result<()> {
    let ring = shared_ring(4)?;
    let node = ring.daemons[2].node();
    let (mac, ip) = (
        node.mac().to_string(),
        node.ip().context("an ip")?.to_string(),
    );
    for (to, why) in [
        ("02:00:00:00:77:77", "is not a member of the ring"),
        ("10.99.0.1", "no member of the ring has the IP address"),
        ("south", "no member of the ring is called"),
    ] {
        for command in ["yield", "forget"] {
            let stranger = ringctl(&ring.daemons[0], &[command, to]).output()?;
            let errors = String::from_utf8_lossy(&stranger.stderr);
            ensure!(
                stranger.status.code() == Some(1) && errors.contains(why),
                "{stranger:?}"
            );
        }
    }
    for to in [&mac, &ip, "south"] {
        check_token_moves_to(&ring, to, &ip)?;
        // The command refuses a live member, by any of its names.
        let there = ringctl_with_host_name(&ip, &ring.daemons[0], &["forget", to])?;
        let errors = String::from_utf8_lossy(&there.stderr);
        let (_, ago) = errors
            .split_once(&format!("{mac} (south) is alive, heard "))
            .context("who")?;
        let (ago, _) = ago
            .split_once(" ago; stop its ringd first")
            .context("the status shows since when")?;
        // The rest of the text is a time, for example `33.5 ms`.
        ensure!(ago.contains(' ') && ago.len() <= 7, "{errors}");
    }
    Ok(())
}

/// Runs `ringctl` on a machine whose hosts file contains a name for this address.
fn ringctl_with_host_name(ip: &str, daemon: &Daemon, arguments: &[&str]) -> Result<Output> {
    let mut hosts = tempfile::NamedTempFile::new()?;
    writeln!(hosts, "{ip} south")?;
    let mut command = Command::new("unshare");
    let line = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    command
        .args(["--mount", "sh", "-c", line])
        .arg(hosts.path());
    command.arg(crate::locks::binaries().ringctl);
    command.arg("--socket").arg(daemon.control());
    Ok(command.args(arguments).output()?)
}

/// Yields the token to `to`, a name of the third member. Checks that the token moves to this member.
fn check_token_moves_to(ring: &Ring, to: &str, ip: &str) -> Result<()> {
    let here = &ring.daemons[0];
    let mut holder = connect(here)?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    let mut watcher = connect(&ring.daemons[2])?;
    watcher.send(&json!({"request": "watch"}))?;
    watcher.expect("snapshot")?;
    let shown = ringctl_with_host_name(ip, here, &["status"])?;
    let shown = String::from_utf8(shown.stdout)?;
    ensure!(shown.contains(" south "), "{shown}");
    let output = ringctl_with_host_name(ip, here, &["yield", to])?;
    ensure!(output.status.success(), "{to}: {output:?}");
    let lost = holder.expect("lost")?;
    ensure!(lost["why"] == "yield", "{lost}");
    holder.unlock()?;
    loop {
        let event = watcher.expect("event")?;
        if event["from"] == "WAITER" && event["state"] == "OWNER" {
            return Ok(());
        }
    }
}

/// Returns the client of `docs/how-to/lock-from-python.md`.
fn manual_client() -> Result<&'static str> {
    block(PYTHON, "import json, os, signal")
}

fn python(program: &str, daemon: &Daemon) -> Result<Child> {
    let mut python = Command::new("python3");
    python.args(["-c", program]).arg(daemon.control());
    let started = python.stdout(Stdio::piped()).spawn();
    started.context("cannot start python3: install it")
}

/// Starts a Python client whose work lasts longer than any test.
fn busy_python(daemon: &Daemon) -> Result<Child> {
    let program = manual_client()?.replace("time.sleep(1)", "time.sleep(1000)");
    let child = python(&program, daemon)?;
    let works = |status: &Value| {
        let first = &status["clients"][0];
        first["holds"] == true && first["pid"] == child.id()
    };
    daemon.wait_for_status(WAIT_LIMIT, works)?;
    Ok(child)
}

fn the_client_in_the_manual_works_and_ends_with_its_lock() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let output = python(manual_client()?, daemon)?.wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    ensure!(text.starts_with("working under "), "{text}");
    let mut busy = busy_python(daemon)?;
    let output = ringctl(daemon, &["yield"]).output()?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(wait_for(&mut busy)? == Some(LOST_CODE));
    Ok(())
}

fn a_client_whose_daemon_is_stopped() -> Result<()> {
    let ring = form(3)?;
    let mut busy = busy_python(&ring.daemons[0])?;
    ring.daemons[0].signal(Signal::SIGSTOP)?;
    let mut next = connect(&ring.daemons[1])?;
    next.lock("next")?;
    next.expect("granted")?;
    let ended = busy.try_wait()?;
    if ended.is_none() {
        busy.kill()?;
        busy.wait()?;
    }
    let signal = ended.context("the program still works")?.signal();
    ensure!(signal == Some(Signal::SIGALRM as i32), "{signal:?}");
    Ok(())
}
