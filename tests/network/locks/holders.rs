//! Current and earlier holders in the reports of other machines, of watchers and of the log.

use anyhow::{Result, ensure};
use ring_segment::{Test, tests};
use serde_json::{Value, json};

use crate::locks::program::Running;
use crate::locks::{WAIT_LIMIT, connect, form, ringctl, shared_ring, wait_until_holder_is_known};

pub(super) fn tests() -> Vec<Test> {
    tests![
        every_machine_names_the_program_that_holds_the_token,
        the_log_names_each_holder_its_time_and_its_end,
        a_watcher_sees_the_release_of_the_token,
        many_short_locks_get_few_lines,
    ]
}

fn every_machine_names_the_program_that_holds_the_token() -> Result<()> {
    let ring = shared_ring(3)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("backup \u{1b}[2J")?;
    holder.expect("granted")?;
    for daemon in &ring.daemons {
        let status = wait_until_holder_is_known(daemon, "backup \u{1b}[2J")?;
        ensure!(status["holder"]["since_ns"].is_u64(), "{status}");
        let versions = status["members"].as_array().into_iter().flatten();
        for member in versions {
            ensure!(member["version"] == env!("CARGO_PKG_VERSION"), "{member}");
        }
        let shown = daemon.ringctl(&["status"])?;
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let line = r"Held by      backup \u{1b}[2J for ";
        ensure!(shown.contains(line), "{shown}");
    }
    holder.unlock()?;
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| status["holder"].is_null())?;
    }
    Ok(())
}

fn the_log_names_each_holder_its_time_and_its_end() -> Result<()> {
    let ring = form(2)?;
    let daemon = &ring.daemons[0];
    let mut seven = Running::start(&mut ringctl(
        daemon,
        &[
            "run",
            "--label",
            "seven",
            "--",
            "sh",
            "-c",
            "echo $RINGD_TOKEN; exit 7",
        ],
    ))?;
    let token = seven.line();
    seven.expect_code(7)?;
    let granted = daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("\"seven\" (process ") && line.contains(&format!("holds the token {token}"))
    })?;
    ensure!(granted.contains("INFO"), "{granted}");
    let released = daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&format!("has released the token {token} after "))
    })?;
    ensure!(released.contains(", exit code 7"), "{released}");
    ensure!(released.contains("\"seven\" (process "), "{released}");
    // The event contains the program and its label.
    let once = ["once", "nightly", "--every", "20h", "--", "true"];
    Running::start(&mut ringctl(daemon, &once))?.expect_code(0)?;
    let line = daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("exit code 0"))?;
    ensure!(line.contains("nightly"), "{line}");
    // A client that disconnects loses the token. The daemon must not also report a release.
    let mut gone = connect(daemon)?;
    gone.lock("gone")?;
    gone.expect("granted")?;
    drop(gone);
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("\"gone\" (process ") && line.contains("has lost the token")
    })?;
    let output = daemon.output();
    let released =
        |line: &&String| line.contains("\"gone\"") && line.contains("has released the token");
    ensure!(!output.iter().any(|line| released(&line)), "{output:#?}");
    Ok(())
}

fn a_watcher_sees_the_release_of_the_token() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut watcher = connect(&ring.daemons[0])?;
    watcher.send(&json!({"request": "watch", "turns": false}))?;
    watcher.expect("snapshot")?;
    let mut first = connect(&ring.daemons[0])?;
    let mut second = connect(&ring.daemons[0])?;
    first.lock("first")?;
    first.expect("granted")?;
    second.lock("second")?;
    first.unlock()?;
    second.expect("granted")?;
    second.unlock()?;
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let event: Value = watcher.expect("event")?;
        let is_lock =
            ["lock_granted", "lock_released"].contains(&event["event"].as_str().unwrap_or(""));
        if is_lock {
            seen.push((event["event"].clone(), event["label"].clone()));
        }
    }
    let expected = [
        ("lock_granted", "first"),
        ("lock_released", "first"),
        ("lock_granted", "second"),
        ("lock_released", "second"),
    ];
    let expected = expected.map(|(event, label)| (json!(event), json!(label)));
    ensure!(seen == expected, "{seen:?}");
    Ok(())
}

fn many_short_locks_get_few_lines() -> Result<()> {
    const LOCKS: usize = 1000;
    let ring = form(1)?;
    let daemon = &ring.daemons[0];
    let mut client = connect(daemon)?;
    for _ in 0..LOCKS {
        client.lock("short")?;
        client.expect("granted")?;
        client.unlock()?;
    }
    client.lock("long")?;
    client.expect("granted")?;
    let line = daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("\"long\""))?;
    let lines = daemon.output();
    let short = lines.iter().filter(|line| line.contains("\"short\""));
    let short = short.count();
    ensure!(
        (100..LOCKS).contains(&short),
        "the log has {short} lines of short locks"
    );
    ensure!(
        line.contains("earlier short locks were not shown"),
        "{line}"
    );
    Ok(())
}
