//! `ringctl data`, `guard` and `watch`.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Test, tests};
use serde_json::{Value, json};

use crate::locks::program::Running;
use crate::locks::scene::{LockScene, path};
use crate::locks::{WAIT_LIMIT, connect, form, ringctl, shared_ring, wait_until_holder_is_known};

/// Maximum size of the token's data, in bytes.
const DATA_LEN_MAX: usize = 1024;

pub(super) fn tests() -> Vec<Test> {
    tests![
        data_set_under_a_lock_are_read_on_another_node,
        a_client_that_waits_to_set_data_reports_the_holder,
        setting_data_without_the_lock_is_refused,
        data_of_the_documented_length_are_accepted_and_one_byte_more_is_refused,
        a_guard_refuses_the_token_of_an_earlier_holder,
        a_watch_begins_with_a_snapshot_and_a_later_one_continues_where_it_ended,
        a_watch_ends_with_its_daemon_and_prints_how_to_continue,
        every_token_in_json_has_its_fencing_string,
    ]
}

fn start(daemon: &Daemon, arguments: &[&str]) -> Result<Running> {
    Running::start(&mut ringctl(daemon, arguments))
}

/// Starts a shell line under the lock. In the line, `ringctl` uses this daemon.
fn start_under_lock(daemon: &Daemon, line: &str) -> Result<Running> {
    let (ringctl, socket) = (crate::locks::binaries().ringctl, daemon.control());
    let function = format!(
        "ringctl() {{ {ringctl} --socket {} \"$@\"; }}",
        socket.display()
    );
    start(daemon, &["run", "-c", &format!("{function}; {line}")])
}

fn wait_for_data(daemon: &Daemon, data: &str) -> Result<()> {
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let mut get = start(daemon, &["data", "get", "--raw"])?;
        let output = get.remaining_output();
        get.expect_code(0)?;
        if output == data {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{output:?} and not {data:?}");
    }
}

fn data_set_under_a_lock_are_read_on_another_node() -> Result<()> {
    let ring = shared_ring(2)?;
    let (here, there) = (&ring.daemons[0], &ring.daemons[1]);
    start_under_lock(here, "ringctl data set 'by run'")?.expect_code(0)?;
    wait_for_data(there, "by run")?;
    // If the caller has no lock, the command takes the lock itself.
    start(there, &["data", "set", "by itself"])?.expect_code(0)?;
    wait_for_data(here, "by itself")?;
    let mut get = start(here, &["data", "get"])?;
    get.expect_line("627920697473656c66")?;
    // The next holder on each node gets the data.
    let mut next = start_under_lock(here, "echo $RINGD_DATA")?;
    next.expect_line("627920697473656c66")
}

/// `status` does not show the waiting command, because the command has no lock. Without a message, users would think
/// that the command hangs.
fn a_client_that_waits_to_set_data_reports_the_holder() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    wait_until_holder_is_known(&ring.daemons[1], "holder")?;
    for (daemon, reason) in [
        (
            &ring.daemons[0],
            "held by holder on this machine".to_owned(),
        ),
        (
            &ring.daemons[1],
            format!("held by holder on {} for ", ring.macs()[0]),
        ),
    ] {
        let mut set = start(daemon, &["data", "set", "x"])?;
        set.expect_error(&format!("ringctl: waiting for the token: {reason}"))?;
        set.signal(Signal::SIGTERM)?;
        set.wait()?;
    }
    holder.unlock()
}

fn setting_data_without_the_lock_is_refused() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    start(daemon, &["data", "set", "before"])?.expect_code(0)?;
    let mut run = start_under_lock(daemon, "echo $RINGD_TOKEN")?;
    let earlier = run.line();
    run.expect_code(0)?;
    // The refused command has not changed the data of the resting token.
    start_under_lock(&ring.daemons[1], "true")?.expect_code(0)?;
    let set_late = || {
        let mut command = ringctl(daemon, &["data", "set", "late"]);
        Running::start(command.env("RINGD_LOCK", &earlier))
    };
    let mut late = set_late()?;
    let errors = late.errors();
    ensure!(
        errors.contains("no program of this machine holds the token"),
        "{errors}"
    );
    late.expect_code(1)?;
    let mut holder = connect(daemon)?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    let mut late = set_late()?;
    let errors = late.errors();
    ensure!(
        errors.contains("is no longer held on this machine"),
        "{errors}"
    );
    late.expect_code(1)?;
    wait_until_holder_is_known(&ring.daemons[1], "holder")?;
    let mut impatient = start(&ring.daemons[1], &["data", "set", "-n", "late"])?;
    let errors = impatient.errors();
    ensure!(errors.contains("held by"), "{errors}");
    impatient.expect_code(1)?;
    wait_for_data(daemon, "before")
}

fn data_of_the_documented_length_are_accepted_and_one_byte_more_is_refused() -> Result<()> {
    let ring = shared_ring(2)?;
    let (here, there) = (&ring.daemons[0], &ring.daemons[1]);
    let most = "m".repeat(DATA_LEN_MAX);
    start(here, &["data", "set", &most])?.expect_code(0)?;
    wait_for_data(there, &most)?;
    let over = "o".repeat(DATA_LEN_MAX + 1);
    for (value, why) in [
        (over.as_str(), "data too long: 1,025 bytes, at most 1,024"),
        ("-", "data too long: at most 1,024 bytes"),
    ] {
        let mut command = ringctl(here, &["data", "set", value]);
        let mut set = Running::start(command.stdin(Stdio::piped()))?;
        // The command may end before it reads the input.
        let _ = set.write_input(&over);
        set.close_input();
        let errors = set.errors();
        ensure!(errors.contains(why), "{errors}");
        set.expect_code(1)?;
    }
    // The daemon also refuses the data of a client that sends its own request.
    let mut client = connect(here)?;
    client.lock("greedy")?;
    client.expect("granted")?;
    let hex = "6f".repeat(DATA_LEN_MAX + 1);
    client.send(&json!({"request": "data_set", "hex": hex}))?;
    let answer = client.expect("error")?;
    ensure!(
        answer == "a token carries at most 1,024 bytes of data",
        "{answer}"
    );
    client.unlock()?;
    wait_for_data(here, &most)
}

fn a_guard_refuses_the_token_of_an_earlier_holder() -> Result<()> {
    let scene = LockScene::new()?;
    let (record, report) = (scene.file("record"), scene.file("report"));
    let write = |text: &str| -> Result<String> {
        let (record, report) = (path(&record)?, path(&report)?);
        let write = format!("'echo {text} > {report}'");
        Ok(format!("ringctl guard {record} -- sh -c {write}"))
    };
    let mut earlier = start_under_lock(
        scene.first(),
        &format!("echo $RINGD_TOKEN; {}", write("one")?),
    )?;
    let token = earlier.line();
    earlier.expect_code(0)?;
    start_under_lock(scene.second(), &write("two")?)?.expect_code(0)?;
    let guard = ["guard", path(&record)?, "--", "rm", path(&report)?];
    let mut late = Running::start(ringctl(scene.first(), &guard).env("RINGD_TOKEN", &token))?;
    let errors = late.errors();
    ensure!(
        errors.contains(&format!("the token {token} is stale")),
        "{errors}"
    );
    late.expect_code(76)?;
    ensure!(fs::read_to_string(&report)? == "two\n");
    Ok(())
}

/// Counts the tokens in an answer, and checks that each token has its fencing string.
fn count_tokens(value: &Value) -> Result<usize> {
    let below: Vec<&Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(all) => all.iter().collect(),
        _ => Vec::new(),
    };
    let mut count = 0;
    for part in below {
        count += count_tokens(part)?;
    }
    if let (Some(progress), Some(author)) = (value["progress"].as_u64(), value["author"].as_str()) {
        let fencing = format!("{progress}-{author}-{}", value["number"]);
        ensure!(value["fencing"] == fencing.as_str(), "{value}");
        count += 1;
    }
    Ok(count)
}

/// jq and JavaScript would round the numbers in a token.
fn every_token_in_json_has_its_fencing_string() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let mut watch = connect(daemon)?;
    watch.send(&json!({"request": "watch"}))?;
    let snapshot = watch.expect("snapshot")?;
    let mut client = connect(daemon)?;
    client.lock("fenced")?;
    let granted = client.expect("granted")?;
    ensure!(
        granted["fencing"] == granted["token"]["fencing"],
        "{granted}"
    );
    let event = loop {
        let event = watch.expect("event")?;
        if event["label"] == "fenced" {
            break event;
        }
    };
    let data = daemon.ask(&json!({"request": "data_get"}), "data")?;
    let status = daemon.status()?;
    for (kind, answer) in [
        ("snapshot", &snapshot),
        ("granted", &granted),
        ("event", &event),
        ("data", &data),
        ("status", &status),
    ] {
        ensure!(count_tokens(answer)? == 1, "{kind}: {answer}");
    }
    client.unlock()
}

fn next_event(watch: &mut Running) -> Result<Value> {
    let line = watch.line();
    serde_json::from_str(&line).with_context(|| format!("{line:?} is not JSON"))
}

fn a_watch_begins_with_a_snapshot_and_a_later_one_continues_where_it_ended() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let mut watch = start(daemon, &["watch", "--json", "--turns"])?;
    let mut event = next_event(&mut watch)?;
    let snapshot = event["snapshot"].take();
    ensure!(snapshot["status"]["interface"] == "eth0", "{event}");
    let mut number = snapshot["number"].as_u64().context("a number")?;
    start(daemon, &["run", "--label", "seen", "true"])?.expect_code(0)?;
    let mut lock = Value::Null;
    while lock.is_null() {
        let event = next_event(&mut watch)?["event"].take();
        number += 1;
        ensure!(event["number"] == number, "{event}, and not {number}");
        if event["label"] == "seen" {
            lock = event;
        }
    }
    ensure!(lock["event"] == "lock_granted", "{lock}");
    watch.signal(Signal::SIGINT)?;
    watch.expect_signal(Signal::SIGINT)?;
    // The next watch must report the events that happen while no watch runs.
    start(daemon, &["run", "--label", "missed", "true"])?.expect_code(0)?;
    let from = (number + 1).to_string();
    let mut again = start(daemon, &["watch", "--json", "--turns", "--from", &from])?;
    loop {
        let event = next_event(&mut again)?["event"].take();
        number += 1;
        ensure!(event["number"] == number, "{event}, and not {number}");
        if event["label"] == "missed" {
            return Ok(());
        }
    }
}

fn a_watch_ends_with_its_daemon_and_prints_how_to_continue() -> Result<()> {
    let mut ring = form(2)?;
    let mut watch = start(&ring.daemons[0], &["watch", "--json"])?;
    let mut last = next_event(&mut watch)?["snapshot"]["number"].clone();
    ring.daemons[0].kill()?;
    for line in watch.remaining_output().lines() {
        let event: Value = serde_json::from_str(line)?;
        last = event["event"]["number"].clone();
    }
    let next = last.as_u64().context("a number")? + 1;
    let errors = watch.errors();
    ensure!(
        errors.contains(&format!("ringctl watch --from {next}")),
        "{errors}"
    );
    watch.expect_code(3)?;
    // The restarted daemon does not know the old event numbers. So it first sends a snapshot, with a number that the
    // earlier daemon never used.
    ring.daemons[0].start()?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |_| true)?;
    let from = next.to_string();
    let mut again = start(&ring.daemons[0], &["watch", "--json", "--from", &from])?;
    let event = next_event(&mut again)?;
    let number = event["snapshot"]["number"].as_u64();
    ensure!(number > Some(next), "{event} after {next}");
    Ok(())
}
