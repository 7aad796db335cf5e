//! `ringctl history` with real daemons that do not log to systemd's journal.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use ring_segment::limit::wait_until;
use ring_segment::{Daemon, Layout, Ring, Test, binaries, tests};
use serde_json::Value;

use crate::locks::program::Running;
use crate::locks::{ringctl, timing};
use crate::recipes::pages::{MONITOR, block};

/// Maximum size of one generation of the file.
const GENERATION_LEN_MAX: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

pub(crate) fn tests() -> Vec<Test> {
    tests![
        the_history_has_the_end_of_each_hold_also_after_a_crash_of_the_daemon,
        the_history_has_the_holds_of_other_machines,
        the_file_of_the_history_is_bounded,
        a_user_without_rights_gets_the_reason,
    ]
}

fn form(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).addresses().bridge()?;
    let ring = Ring::start(segment, count, timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Returns `ringctl history` for the files of a daemon.
fn history_command(daemon: &Daemon, arguments: &[&str]) -> Command {
    let mut command = Command::new(binaries().ringctl);
    command.args(["history", "--state-dir"]);
    command.arg(daemon.state_dir()).args(arguments);
    command
}

/// Returns the holds that a daemon's files contain.
fn history(daemon: &Daemon, arguments: &[&str]) -> Result<Vec<Value>> {
    let output = history_command(daemon, &[&["--json"], arguments].concat()).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the holds as soon as the number of holds with this outcome is `count`.
fn wait_for(daemon: &Daemon, outcome: &str, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    wait_until(&format!("{count} holds are {outcome}"), || {
        found = history(daemon, &[]).unwrap_or_default();
        let matching = found.iter().filter(|hold| hold["outcome"] == outcome);
        matching.count() == count
    });
    found
}

fn by_label<'a>(holds: &'a [Value], label: &str) -> Result<&'a Value> {
    let hold = holds.iter().find(|hold| hold["program"] == label);
    hold.with_context(|| format!("no hold of {label}: {holds:#?}"))
}

/// Starts a program that holds a lock until the end of its input. Waits until the program works.
fn hold(daemon: &Daemon, options: &[&str]) -> Result<Running> {
    let line = ["--", "sh", "-c", "echo ready; read line"];
    let mut command = ringctl(daemon, &[&["run"], options, &line].concat());
    let mut holder = Running::start(command.stdin(Stdio::piped()))?;
    holder.expect_line("ready")?;
    Ok(holder)
}

fn the_history_has_the_end_of_each_hold_also_after_a_crash_of_the_daemon() -> Result<()> {
    let mut ring = form(2)?;
    let first = &ring.daemons[0];
    for (label, script) in [("seven", "exit 7"), ("killed", "kill -9 $$")] {
        ringctl(first, &["run", "--label", label, "--", "sh", "-c", script]).output()?;
    }
    let mut loser = hold(first, &["--label", "loser"])?;
    ringctl(first, &["yield"]).output()?;
    loser.expect_code(75)?;
    let mut crashed = hold(first, &["--label", "crashed", "--name", "index"])?;
    let held = wait_for(first, "held", 1);
    ensure!(by_label(&held, "crashed")?["lock"] == "index", "{held:#?}");

    ring.daemons[0].kill()?;
    crashed.expect_code(75)?;
    let first = &mut ring.daemons[0];
    // The crash leaves an incomplete last line.
    let file = first.state_dir().join("eth0.history");
    let mut file = OpenOptions::new().append(true).open(file)?;
    file.write_all(br#"{"time_ms":17960"#)?;
    let stopped = history(first, &[])?;
    ensure!(stopped.len() == 4, "{stopped:#?}");
    first.start()?;
    ring.wait_until_formed()?;
    let first = &ring.daemons[0];
    ringctl(first, &["run", "--label", "later", "--", "true"]).output()?;

    wait_for(first, "released", 3);
    let holds = wait_for(first, "unknown", 1);
    let labels: Vec<_> = holds.iter().map(|hold| hold["program"].clone()).collect();
    ensure!(
        labels == ["seven", "killed", "loser", "crashed", "later"],
        "{labels:?}"
    );
    for (label, key, value) in [
        ("seven", "exit", Value::from(7)),
        ("seven", "user", "root".into()),
        ("seven", "node", "eth0".into()),
        ("seven", "member", Value::Null),
        ("seven", "lock", Value::Null),
        ("killed", "exit", 137.into()),
        ("loser", "outcome", "lost".into()),
        ("loser", "reason", "yield".into()),
        ("crashed", "outcome", "unknown".into()),
        ("later", "exit", 0.into()),
    ] {
        let hold = by_label(&holds, label)?;
        ensure!(hold[key] == value, "{key} of {hold:#}");
    }
    ensure!(by_label(&holds, "seven")?["held_ns"].is_u64());

    let count = |arguments: &[&str]| Ok::<_, anyhow::Error>(history(first, arguments)?.len());
    for (arguments, expected) in [
        (&["--lock", "index"][..], 1),
        (&["--token"], 4),
        (&["-n", "2"], 2),
        (&["--since", "1h"], 5),
        (&["--since", "0s"], 0),
        (&["-i", "eth0"], 5),
        (&["-i", "eth9"], 0),
    ] {
        ensure!(count(arguments)? == expected, "{arguments:?}");
    }
    check_table(first)
}

/// Checks that the table has the header of the example for operators.
fn check_table(daemon: &Daemon) -> Result<()> {
    let output = history_command(daemon, &["-n", "1"]).output()?;
    let table = String::from_utf8(output.stdout)?;
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = table.lines().map(words).collect();
    let example = block(MONITOR, "$ ringctl history")?;
    let head = example.lines().nth(1).context("a table")?;
    ensure!(lines.len() == 2 && lines[0] == words(head), "{table}");
    let row = &lines[1];
    ensure!(
        row.contains("(token) this machine later") && row.ends_with("root exit code 0"),
        "{table}"
    );
    let nothing = history_command(daemon, &["--lock", "none"]).output()?;
    let errors = String::from_utf8(nothing.stderr)?;
    ensure!(
        nothing.status.success()
            && nothing.stdout.is_empty()
            && errors.contains("contains no lock"),
        "{errors}"
    );
    Ok(())
}

fn the_history_has_the_holds_of_other_machines() -> Result<()> {
    let ring = form(3)?;
    let (other, watching) = (&ring.daemons[1], &ring.daemons[0]);
    let mac = ring.macs()[1].to_string();
    let mut token = hold(other, &["--label", "tar"])?;
    let mut index = hold(other, &["--label", "make", "--name", "index"])?;
    let held = wait_for(watching, "held", 2);
    for (label, lock) in [("tar", Value::Null), ("make", "index".into())] {
        let hold = by_label(&held, label)?;
        ensure!(
            hold["member"] == mac.as_str() && hold["lock"] == lock,
            "{hold:#}"
        );
    }
    // A short hold leaves no line on another machine.
    ringctl(other, &["run", "--name", "short", "--", "true"]).output()?;
    for holder in [&mut token, &mut index] {
        holder.close_input();
        holder.expect_code(1)?;
    }
    let ended = wait_for(watching, "ended", 2);
    let own = wait_for(other, "released", 3);
    for label in ["tar", "make"] {
        let hold = by_label(&ended, label)?;
        let [seen, real] = [hold, by_label(&own, label)?].map(|hold| hold["held_ns"].as_u64());
        let (seen, real) = (seen.context("a duration")?, real.context("a duration")?);
        ensure!(seen.abs_diff(real) <= 2 * SECOND_NS, "{seen} and {real}");
        ensure!(hold["exit"].is_null() && hold["pid"].is_null(), "{hold:#}");
        // Both machines name the same hold.
        ensure!(
            hold["fencing"] == by_label(&own, label)?["fencing"],
            "{hold:#}"
        );
    }
    ensure!(ended.len() == 2, "{ended:#?}");
    Ok(())
}

fn the_file_of_the_history_is_bounded() -> Result<()> {
    let mut ring = form(1)?;
    let daemon = &mut ring.daemons[0];
    daemon.kill()?;
    let newer = daemon.state_dir().join("eth0.history");
    let line = r#"{"time_ms":1000,"event":"lock_released","label":"old","held_ns":5,"exit":0}"#;
    let count = usize::try_from(GENERATION_LEN_MAX)? / (line.len() + 1);
    fs::write(&newer, format!("{line}\n").repeat(count))?;
    daemon.start()?;
    ring.wait_until_formed()?;
    let daemon = &ring.daemons[0];
    for _ in 0..3 {
        ringctl(daemon, &["run", "--label", "new", "--", "true"]).output()?;
    }
    wait_until("the new holds are in the file", || {
        let found = history(daemon, &["-n", "4"]).unwrap_or_default();
        let labels: Vec<_> = found.iter().map(|hold| hold["program"].clone()).collect();
        labels == ["old", "new", "new", "new"]
    });
    let older = daemon.state_dir().join("eth0.history.1");
    for path in [&newer, &older] {
        let len = fs::metadata(path)?.len();
        ensure!(
            len > 0 && len <= GENERATION_LEN_MAX,
            "{}: {len}",
            path.display()
        );
    }
    Ok(())
}

fn a_user_without_rights_gets_the_reason() -> Result<()> {
    let ring = form(1)?;
    let daemon = &ring.daemons[0];
    ringctl(daemon, &["run", "--", "true"]).output()?;
    wait_for(daemon, "released", 1);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
        .arg(binaries().ringctl)
        .args(["history", "--state-dir"]);
    let output = command.arg(daemon.state_dir()).output()?;
    let errors = String::from_utf8(output.stderr)?;
    ensure!(
        output.status.code() == Some(1) && errors.contains("run ringctl as root"),
        "{errors}"
    );
    Ok(())
}
