//! Hooks for the named locks of programs on their machine.

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, LONG_IDLE_HOLD, Segment, Test, Timing, binaries, tests};
use serde_json::{Value, json};

use crate::hooks::hook_dir::{HEARTBEAT, HookDir, value};
use crate::locks::{Client, ringctl};

/// Shell line that prints an event if the event is about a lock, or is the first event.
const PRINT_LOCK: &str = "[ -n \"$RINGD_LOCK_NAME\" ] || [ $RINGD_OLD_STATE = none ] || exit 0; \
     echo event=$RINGD_EVENT number=$RINGD_EVENT_NUMBER old=$RINGD_OLD_STATE state=$RINGD_STATE \
     reason=$RINGD_REASON merged=$RINGD_MERGED name=$RINGD_LOCK_NAME mode=$RINGD_LOCK_MODE \
     grade=$RINGD_LOCK_GRADE token=$RINGD_LOCK_TOKEN program=$RINGD_LOCK_PROGRAM >>$R";

const PRINT_TOKEN: &str = "echo $RINGD_TOKEN";
/// Exit code of a `ringctl` that lost a lock.
const LOST_CODE: i32 = 75;

pub(super) fn tests() -> Vec<Test> {
    tests![hooks_run_when_a_program_of_their_machine_gets_releases_or_loses_a_named_lock,]
}

/// Runs a shell line under a lock, and returns its output.
fn run_under(daemon: &Daemon, options: &[&str], line: &str, code: i32) -> Result<String> {
    let options = [&["run", "--label", "copy"], options].concat();
    let output = ringctl(daemon, &[&options[..], &["--", "sh", "-c", line]].concat()).output()?;
    ensure!(output.status.code() == Some(code), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn hooks_run_when_a_program_of_their_machine_gets_releases_or_loses_a_named_lock() -> Result<()> {
    let (segment, place) = (Segment::bridge(2)?, HookDir::new()?);
    place.hook("tells", PRINT_LOCK)?;
    // A token that rests causes no other events, so no events are merged.
    let timing = Timing::stall_tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD);
    let daemon = place.ringd(segment.node(0), &timing);
    let daemon = daemon.option("--ring-size", "2").spawn()?;
    let other = segment.node(1).ringd(binaries()).timing(&timing);
    let other = other.option("--ring-size", "2").spawn()?;
    place.wait_for_line(|line| line.contains("old=none"))?;
    let mut watcher = Client::connect(&daemon.control())?;
    watcher.send(&json!({"request": "watch", "turns": false}))?;
    watcher.expect("snapshot")?;

    let first = run_under(&daemon, &["--name", "backup"], PRINT_TOKEN, 0)?;
    // These locks trigger no hook: they have no name, belong to another machine, or are not granted.
    run_under(&daemon, &[], "true", 0)?;
    run_under(&other, &["--name", "elsewhere"], "true", 0)?;
    let mut holder = Client::connect(&other.control())?;
    holder.send(&json!({"request": "named_lock", "name": "taken"}))?;
    holder.expect("granted")?;
    run_under(&daemon, &["--name", "taken", "-n"], "true", 1)?;
    let shared = [
        "--name",
        "ledger",
        "--shared",
        "-r",
        "quorum",
        "--max-hold",
        "300ms",
    ];
    let line = format!("{PRINT_TOKEN}; exec sleep 1000");
    let second = run_under(&daemon, &shared, &line, LOST_CODE)?;

    let expected = [
        ("lock_granted", "backup", "exclusive", "alone", &first, ""),
        ("lock_released", "backup", "exclusive", "alone", &first, ""),
        ("lock_granted", "ledger", "shared", "quorum", &second, ""),
        (
            "lock_lost",
            "ledger",
            "shared",
            "quorum",
            &second,
            "max_hold",
        ),
    ];
    place.wait_for_line(|line| line.starts_with("event=lock_lost "))?;
    let record = place.lines();
    ensure!(record.len() == 1 + expected.len(), "{record:#?}");
    ensure!(value(&record[0], "name")?.is_empty(), "{record:#?}");
    for (line, (event, name, mode, grade, token, reason)) in record[1..].iter().zip(expected) {
        ensure!(token.split('-').count() == 3, "{token}");
        for (key, wanted) in [
            ("event", event),
            ("name", name),
            ("mode", mode),
            ("grade", grade),
            ("token", token),
            ("reason", reason),
            ("program", "copy"),
            ("merged", "0"),
            ("old", value(line, "state")?),
        ] {
            ensure!(value(line, key)? == wanted, "{key}: {line}");
        }
        let number: u64 = value(line, "number")?.parse()?;
        let watched = next_event(&mut watcher, number)?;
        for (key, wanted) in [
            ("event", event),
            ("name", name),
            ("mode", mode),
            ("require", grade),
            ("fencing", token),
            ("label", "copy"),
        ] {
            ensure!(watched[key] == wanted, "{key}: {watched}");
        }
    }
    Ok(())
}

/// Returns the event with this number, and drops all events before it.
fn next_event(watcher: &mut Client, number: u64) -> Result<Value> {
    loop {
        let event = watcher.expect("event")?;
        let seen = event["number"].as_u64().context("a number")?;
        if seen >= number {
            ensure!(seen == number, "{event} instead of event {number}");
            return Ok(event);
        }
    }
}
