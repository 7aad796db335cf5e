//! Reports of the log and of `ringctl watch` to operators.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::unistd::{getpid, getuid};
use ring_segment::{
    Daemon, Layout, Ring, Ringd, Segment, SharedRing, Test, Timing, WAIT_LIMIT, binaries, tests,
};
use serde_json::{Value, json};

use crate::locks::Client;

/// Number of events. It exceeds the number of events in a daemon's history.
const EVENT_COUNT: u64 = 1100;

pub(super) fn tests() -> Vec<Test> {
    // A stalled daemon would write additional log lines.
    let quiet = tests![
        an_idle_ring_of_four_writes_no_log_lines,
        a_lost_quorum_is_the_reported_cause_of_a_lost_lock,
    ];
    let quiet = quiet.into_iter().map(Test::without_stalls);
    let others = tests![
        a_rotating_token_causes_no_log_lines,
        the_history_keeps_an_election_despite_many_locks,
        the_log_names_the_holder_of_a_lost_lock_and_the_reason,
        a_pause_and_its_end_are_logged,
        lines_for_the_journal_have_priorities,
    ];
    quiet.chain(others).collect()
}

fn timing() -> Timing {
    Timing::stall_tolerant(Duration::from_millis(100)).idle_hold(Duration::from_millis(1))
}

fn shared_ring() -> Result<SharedRing> {
    SharedRing::on(Layout::new(2), timing(), binaries(), &[])
}

fn latest_event_number(daemon: &Daemon) -> Result<u64> {
    let snapshot = daemon.ask(&json!({"request": "watch"}), "snapshot")?;
    snapshot["number"]
        .as_u64()
        .context("the event has a number")
}

/// Whether a line reports a handover. A warning about a token that was taken too late does not count as such a report.
fn is_turn(line: &str) -> bool {
    [": took the token", ": handed the token over"]
        .iter()
        .any(|turn| line.contains(turn))
}

/// The command ends at SIGTERM, before the daemon would end the lock because of its grade.
fn a_lost_quorum_is_the_reported_cause_of_a_lost_lock() -> Result<()> {
    let expect = |ringd: Ringd| ringd.option("--ring-size", "3");
    let mut ring = Ring::start_with(Segment::bridge(3)?, 3, timing(), binaries(), expect)?;
    ring.wait_until_formed()?;
    let daemon = &ring.daemons[0];
    let mut command = Command::new(binaries().ringctl);
    command.arg("--socket").arg(daemon.control());
    command.args(["run", "--require", "quorum", "sleep", "1000"]);
    let run = command.stderr(Stdio::piped()).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["locks"]["granted"] == 1)?;
    for other in &mut ring.daemons[1..] {
        other.kill()?;
    }
    let output = run.wait_with_output()?;
    let cause = "the quorum was lost: 1 of 3 members confirmed the lock, 2 needed";
    let text = String::from_utf8(output.stderr)?;
    ensure!(text.contains(cause), "{text}");
    let daemon = &ring.daemons[0];
    ensure!(daemon.status()?["locks"]["lost"]["grade"] == 1);
    let line = daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("has lost the token"))?;
    ensure!(line.contains(cause), "{line}");
    Ok(())
}

fn a_rotating_token_causes_no_log_lines() -> Result<()> {
    let ring = shared_ring()?;
    let daemon = &ring.daemons[0];
    let from = latest_event_number(daemon)? + 1;
    let early = [
        "run",
        "--label",
        "early",
        "--max-hold",
        "100ms",
        "sleep",
        "100",
    ];
    ensure!(!daemon.ringctl(&early)?.status.success());
    let turns = |status: &Value| status["counters"]["hand_overs"].as_u64().unwrap_or(0);
    let before = turns(&daemon.status()?);
    daemon.wait_for_status(WAIT_LIMIT, |status| turns(status) > before + EVENT_COUNT)?;

    let logged = daemon.output();
    let turn = logged.iter().find(|line| is_turn(line));
    ensure!(turn.is_none(), "{turn:?}");

    // The latest events are handovers, and the history still has an early election.
    let watch = |turns: bool| json!({"request": "watch", "from": from, "turns": turns});
    daemon.ask(&watch(true), "snapshot")?;
    let mut client = Client::connect(&daemon.control())?;
    client.send(&watch(false))?;
    loop {
        let event = client.expect("event")?;
        ensure!(event["reason"] != "token_taken", "{event}");
        if event["event"] == "lock_lost" {
            ensure!(event["label"] == "early", "{event}");
            return Ok(());
        }
    }
}

/// The events of many locks must not remove the election from the history.
fn the_history_keeps_an_election_despite_many_locks() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let ring = Ring::start(segment, 1, timing(), binaries())?;
    ring.wait_until_formed()?;
    let daemon = &ring.daemons[0];
    let from = latest_event_number(daemon)? + 1;
    let ns = ring.segment.node(0).ns();
    ns.ip("link set eth0 down\n")?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    ns.ip("link set eth0 up\n")?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let mut watcher = Client::connect(&daemon.control())?;
    watcher.send(&json!({"request": "watch", "turns": false}))?;
    watcher.expect("snapshot")?;
    let mut client = Client::connect(&daemon.control())?;
    for _ in 0..EVENT_COUNT {
        client.lock("one of many")?;
        client.expect("granted")?;
        client.unlock()?;
        // A watcher sees all these events when they happen.
        while watcher.expect("event")?["event"] != "lock_granted" {}
    }
    let mut other = Client::connect(&daemon.control())?;
    client.lock("holder")?;
    client.expect("granted")?;
    other.send(&json!({"request": "lock", "label": "late", "wait_ms": 10}))?;
    other.expect("refused")?;
    loop {
        let event = watcher.expect("event")?;
        if event["event"] == "lock_refused" {
            ensure!(
                event["label"] == "late" && event["reason"] == "timeout",
                "{event}"
            );
            break;
        }
    }
    let mut again = Client::connect(&daemon.control())?;
    again.send(&json!({"request": "watch", "from": from, "turns": false}))?;
    loop {
        let event = again.expect("event")?;
        ensure!(event["event"] != "lock_granted", "no election: {event}");
        if event["reason"] == "elected" {
            return Ok(());
        }
    }
}

/// In a ring of four, members confirm each tenure one after the other.
fn an_idle_ring_of_four_writes_no_log_lines() -> Result<()> {
    let heartbeat = Duration::from_millis(250);
    let timing = Timing::tolerant(heartbeat).idle_hold(heartbeat);
    let ring = SharedRing::on(Layout::new(4), timing, binaries(), &[])?;
    let turns = |status: &Value| status["counters"]["hand_overs"].as_u64().unwrap_or(0);
    let go_round = |rounds: u64| -> Result<()> {
        let before = turns(&ring.daemons[0].status()?);
        let all = |status: &Value| turns(status) > before + rounds;
        ring.daemons[0].wait_for_status(WAIT_LIMIT, all).map(drop)
    };
    // The wait lasts until each node has had its quorum.
    go_round(2)?;
    let line_counts: Vec<usize> = ring.daemons.iter().map(|it| it.output().len()).collect();
    let daemon = &ring.daemons[0];
    let from = latest_event_number(daemon)? + 1;
    go_round(3)?;
    for (daemon, line_counts) in ring.daemons.iter().zip(line_counts) {
        let output = daemon.output();
        ensure!(output.len() == line_counts, "{:#?}", &output[line_counts..]);
    }
    let mut client = Client::connect(&daemon.control())?;
    let lock = json!({"request": "lock", "label": "end"});
    let mut other = Client::connect(&daemon.control())?;
    other.send(&lock)?;
    other.expect("granted")?;
    client.send(&json!({"request": "watch", "from": from, "turns": false}))?;
    let event = client.expect("event")?;
    ensure!(event["event"] == "lock_granted", "{event}");
    Ok(())
}

fn the_log_names_the_holder_of_a_lost_lock_and_the_reason() -> Result<()> {
    let ring = shared_ring()?;
    let daemon = &ring.daemons[0];
    let mut client = Client::connect(&daemon.control())?;
    client.send(&json!({"request": "lock", "label": "backup", "max_hold_ms": 100}))?;
    client.expect("granted")?;
    client.expect("lost")?;
    let line = daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("\"backup\" (") && line.contains("lost")
    })?;
    let process = format!("process {}", getpid());
    for word in [&process, "has lost the token", "INFO"] {
        ensure!(line.contains(word), "no {word}: {line}");
    }
    let user = if getuid().is_root() {
        " of root"
    } else {
        " of "
    };
    ensure!(line.contains(user), "{line}");
    client.unlock()
}

fn a_pause_and_its_end_are_logged() -> Result<()> {
    let ring = shared_ring()?;
    let daemon = &ring.daemons[0];
    for command in ["pause", "resume"] {
        ensure!(daemon.ringctl(&[command])?.status.success(), "{command}");
        // A second pause changes nothing.
        ensure!(daemon.ringctl(&[command])?.status.success(), "{command}");
    }
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("resumed by process"))?;
    let output = daemon.output();
    let is_asked = |line: &&String| {
        ["paused by", "pause requested by"]
            .iter()
            .any(|it| line.contains(it))
    };
    let paused = output.iter().filter(is_asked);
    ensure!(paused.count() == 1, "{output:#?}");
    Ok(())
}

fn lines_for_the_journal_have_priorities() -> Result<()> {
    let segment = Segment::bridge(1)?;
    // systemd sets this variable when standard output is the journal.
    let shell_line = "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/$$/fd/1) exec \"$@\"";
    let ring = Ring::start_with(segment, 1, timing(), binaries(), |ringd| {
        ringd
            .through(["sh", "-c", shell_line, "sh"])
            .option("--log-format", "json")
    })?;
    let daemon = &ring.daemons[0];
    let line = daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("-> OWNER"))?;
    ensure!(line.starts_with("<6>{"), "{line}");
    let output = daemon.output();
    let odd = output.iter().find(|line| !line.starts_with('<'));
    ensure!(odd.is_none(), "{odd:?}");
    Ok(())
}
