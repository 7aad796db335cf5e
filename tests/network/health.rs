//! Rings with troubles. The monitor, the status and the log must report each trouble.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Daemon, Layout, Ring, Segment, SmallDisk, Test, Timing, WAIT_LIMIT, binaries, tests,
};
use serde_json::Value;

/// Period of heartbeats. With this period, a member counts as silent after 3.2 s.
const HEARTBEAT: Duration = Duration::from_millis(25);
/// Part of the warning that reports an overloaded machine.
const LOAD_WARNING: &str = "raise --take-timeout";

pub(crate) fn tests() -> Vec<Test> {
    tests![
        every_member_of_a_healthy_ring_reports_health_and_quorum,
        an_isolated_machine_that_expects_others_is_critical,
        two_of_four_report_their_lost_quorum_without_an_expected_number,
        every_other_member_reports_that_a_dead_member_needs_attention,
        no_member_reports_machines_that_were_stopped_on_purpose_as_missing,
        a_missing_expected_machine_is_reported_as_needing_attention,
        a_machine_that_no_other_hears_learns_this_from_the_others,
        a_machine_that_hears_no_member_that_it_remembers_is_critical,
        a_full_disk_is_critical,
        an_interface_that_is_a_port_of_a_bridge_is_reported,
        a_missing_daemon_is_critical,
        a_carrier_that_flaps_does_not_fill_the_log,
    ]
}

fn timing() -> Timing {
    Timing::stall_tolerant(HEARTBEAT)
}

fn form(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).bridge()?;
    let ring = Ring::start(segment, count, timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Runs `ringctl status --check`. Returns the exit code and the output. The output is one line.
fn run_check(daemon: &Daemon) -> Result<(Option<i32>, String)> {
    let output = daemon.ringctl(&["status", "--check"])?;
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(line.lines().count() == 1, "{line}");
    Ok((output.status.code(), line))
}

/// Waits until a daemon's health is `health` for a reason that contains `words`. Then checks the monitor's output.
fn wait_for_health(daemon: &Daemon, health: &str, words: &str) -> Result<()> {
    let says = |trouble: &Value| trouble.as_str().is_some_and(|it| it.contains(words));
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        let mut troubles = status["troubles"].as_array().into_iter().flatten();
        status["health"] == health && troubles.any(says)
    })?;
    let (word, code, quiet) = match health {
        "degraded" => ("WARNING", 1, 0),
        _ => ("CRITICAL", 2, 5),
    };
    let (exit, line) = run_check(daemon)?;
    let begins = format!("RINGD {word} - ");
    ensure!(exit == Some(code), "{exit:?}: {line}");
    ensure!(line.starts_with(&begins) && line.contains(words), "{line}");
    let status = daemon.ringctl(&["status", "-q"])?;
    ensure!(status.status.code() == Some(quiet), "{status:?}");
    Ok(())
}

/// Waits until a daemon logs a warning or an error with these words.
fn wait_for_warning(daemon: &Daemon, words: &str) -> Result<()> {
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        (line.contains("WARN") || line.contains("ERROR")) && line.contains(words)
    })?;
    Ok(())
}

/// Waits until a daemon reports no trouble. Ignores the trouble of an overloaded machine, because the tests may
/// overload the machine.
fn wait_for_recovery(daemon: &Daemon) -> Result<()> {
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        let mut troubles = status["troubles"].as_array().into_iter().flatten();
        troubles.all(|it| it.as_str().is_some_and(|it| it.contains(LOAD_WARNING)))
    })?;
    let (exit, line) = run_check(daemon)?;
    ensure!(
        exit == Some(0) && line.starts_with("RINGD OK - ") || line.contains(LOAD_WARNING),
        "{exit:?}: {line}"
    );
    Ok(())
}

fn every_member_of_a_healthy_ring_reports_health_and_quorum() -> Result<()> {
    let ring = form(4)?;
    for daemon in &ring.daemons {
        wait_for_recovery(daemon)?;
        let status = daemon.status()?;
        let quorum = &status["quorum"];
        ensure!(
            quorum["present"] == 4 && quorum["needed"] == 3 && quorum["ring"] == 4,
            "{quorum}"
        );
        let page = daemon.ringctl(&["status"])?;
        let page = String::from_utf8_lossy(&page.stdout).into_owned();
        let is_healthy = page.contains("Health       healthy\n");
        ensure!(is_healthy || page.contains(LOAD_WARNING), "{page}");
        let quorum = "3 of 4 members needed, 4 present (no --ring-size: counted)";
        ensure!(page.contains(quorum), "{page}");
    }
    Ok(())
}

fn an_isolated_machine_that_expects_others_is_critical() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let alone = segment.node(0).ringd(binaries()).timing(&timing());
    let alone = alone.option("--ring-size", "5").spawn()?;
    let words = "no quorum is possible: 1 of 5 members are present, 3 are needed";
    wait_for_health(&alone, "critical", words)?;
    wait_for_warning(&alone, words)
}

fn two_of_four_report_their_lost_quorum_without_an_expected_number() -> Result<()> {
    let mut ring = form(4)?;
    for daemon in &mut ring.daemons[2..] {
        daemon.kill()?;
    }
    let words = "no quorum is possible: 2 of 4 members are present, 3 are needed";
    for daemon in &ring.daemons[..2] {
        wait_for_health(daemon, "critical", words)?;
        wait_for_warning(daemon, words)?;
        let quorum = &daemon.status()?["quorum"];
        ensure!(quorum["present"] == 2 && quorum["needed"] == 3, "{quorum}");
    }
    // A daemon that has never heard the dead members learns of them from the other daemon.
    ring.daemons[1].kill()?;
    ring.daemons[1].start()?;
    wait_for_health(&ring.daemons[1], "critical", words)?;
    ring.daemons[2].start()?;
    ring.daemons[3].start()?;
    ring.daemons.iter().try_for_each(wait_for_recovery)
}

fn no_member_reports_machines_that_were_stopped_on_purpose_as_missing() -> Result<()> {
    let mut ring = form(4)?;
    for daemon in &mut ring.daemons[1..] {
        daemon.signal(Signal::SIGTERM)?;
        daemon.wait_exit(WAIT_LIMIT)?;
    }
    // This daemon does not receive the LEAVING of the others.
    ring.daemons[1].start()?;
    let is_past_silence = |status: &Value| status["up_ns"].as_u64() > Some(5_000_000_000);
    ring.daemons[1].wait_for_status(WAIT_LIMIT, is_past_silence)?;
    for daemon in &ring.daemons[..2] {
        wait_for_recovery(daemon)?;
        let quorum = &daemon.status()?["quorum"];
        ensure!(quorum["present"] == 2 && quorum["ring"] == 4, "{quorum}");
    }
    Ok(())
}

fn a_missing_expected_machine_is_reported_as_needing_attention() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let start = |at: usize| {
        let daemon = segment.node(at).ringd(binaries()).timing(&timing());
        daemon.option("--ring-size", "3").spawn()
    };
    let (first, _second) = (start(0)?, start(1)?);
    let words = "--ring-size is 3, but only 2 members run";
    wait_for_health(&first, "degraded", words)
}

fn every_other_member_reports_that_a_dead_member_needs_attention() -> Result<()> {
    let mut ring = form(3)?;
    ring.daemons[2].kill()?;
    let gone = ring.daemons[2].node().mac();
    for daemon in &ring.daemons[..2] {
        wait_for_health(daemon, "degraded", &format!("ringctl forget {gone}"))?;
        wait_for_warning(daemon, &format!("member {gone} is silent"))?;
    }
    ring.daemons[2].start()?;
    ring.daemons.iter().try_for_each(wait_for_recovery)
}

fn a_machine_that_no_other_hears_learns_this_from_the_others() -> Result<()> {
    let segment = Layout::new(3).switch(1)?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let blocked = |ways: HashSet<(usize, usize)>| {
        ring.segment.rules().set(|rules| {
            rules.blocked.clear();
            rules.blocked.extend(ways);
        });
    };
    blocked([(2, 0), (2, 1)].into());
    let [first, second, mute] = ring.daemons.as_slice() else {
        anyhow::bail!("there are three daemons");
    };
    let words = "this node is not heard by ";
    wait_for_health(mute, "critical", words)?;
    wait_for_warning(mute, words)?;
    for daemon in [first, second] {
        wait_for_health(daemon, "degraded", &mute.node().mac().to_string())?;
    }
    blocked(HashSet::new());
    ring.daemons.iter().try_for_each(wait_for_recovery)
}

fn a_machine_that_hears_no_member_that_it_remembers_is_critical() -> Result<()> {
    let mut ring = form(3)?;
    for daemon in &mut ring.daemons[1..] {
        daemon.kill()?;
    }
    let alone = &ring.daemons[0];
    wait_for_health(
        alone,
        "critical",
        "hears none of the 2 other members that it knows",
    )?;
    wait_for_warning(alone, "this node no longer hears any member")
}

fn a_full_disk_is_critical() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let folder = tempfile::tempdir()?;
    let disk = SmallDisk::new(&folder.path().join("state"))?;
    let node = segment.node(0).ringd(binaries()).timing(&timing());
    let daemon = node.option("--state-dir", disk.path()).spawn()?;
    // The token moves between both nodes, so that they must write state.
    let _other = segment
        .node(1)
        .ringd(binaries())
        .timing(&timing())
        .spawn()?;
    wait_for_recovery(&daemon)?;
    disk.fill("eth0.state")?;
    wait_for_health(&daemon, "critical", "the state file cannot be written")?;
    wait_for_warning(&daemon, "cannot write the state file")?;
    disk.free()?;
    wait_for_recovery(&daemon)
}

fn an_interface_that_is_a_port_of_a_bridge_is_reported() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let node = segment.node(0);
    // A daemon reads the system files of its network namespace.
    let own_files = [
        "unshare",
        "--mount",
        "sh",
        "-ec",
        "mount -t sysfs sysfs /sys; exec \"$0\" \"$@\"",
    ];
    let start = || node.ringd(binaries()).timing(&timing()).through(own_files);
    let daemon = start().spawn()?;
    let other = segment
        .node(1)
        .ringd(binaries())
        .timing(&timing())
        .spawn()?;
    wait_for_recovery(&daemon)?;
    wait_for_recovery(&other)?;
    node.ns()
        .ip("link add br0 type bridge\nlink set eth0 master br0\n")?;
    let words = "eth0 is a port of a bridge";
    wait_for_health(&daemon, "critical", words)?;
    wait_for_warning(&daemon, words)?;
    node.ns().ip("link set eth0 nomaster\n")?;
    wait_for_recovery(&daemon)
}

fn a_missing_daemon_is_critical() -> Result<()> {
    let mut ring = form(1)?;
    ring.daemons[0].kill()?;
    let (exit, line) = run_check(&ring.daemons[0])?;
    ensure!(
        exit == Some(2) && line.starts_with("RINGD CRITICAL - "),
        "{exit:?}: {line}"
    );
    Ok(())
}

/// The carrier changes so often that the log must not report each change.
fn a_carrier_that_flaps_does_not_fill_the_log() -> Result<()> {
    const FLAP_COUNT: usize = 100;
    let ring = form(2)?;
    let daemon = &ring.daemons[0];
    for _ in 0..FLAP_COUNT {
        ring.segment.lose_carrier(0)?;
        daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] == "has no carrier")?;
        ring.segment.regain_carrier(0)?;
        daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] == "up")?;
    }
    let output = daemon.output();
    let flaps = output.iter().filter(|line| line.contains("has no carrier"));
    ensure!((10..30).contains(&flaps.count()), "{output:#?}");
    ensure!(output.len() < 2 * FLAP_COUNT, "{} lines", output.len());
    Ok(())
}
