//! Named locks of real daemons, used by programs on their machines.

mod completion;
mod failures;
mod kept;
mod upgrade;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Test, WAIT_LIMIT, tests};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::locks::program::Running;
use crate::locks::{Client, ringctl, shared_ring};

/// Exit code of a `ringctl` that lost a lock.
const LOST_CODE: i32 = 75;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = failures::tests();
    tests.extend(completion::tests());
    tests.extend(kept::tests());
    tests.extend(upgrade::tests());
    tests.extend(tests![
        two_locks_and_the_token_are_held_at_the_same_time_on_three_machines,
        a_lock_has_one_exclusive_holder_or_several_shared_holders,
        a_request_that_does_not_wait_is_refused_and_leaves_the_queue,
        a_script_holds_several_locks_and_releases_each_of_them,
        a_long_lock_ends_by_itself_and_events_have_its_name,
        wrong_requests_are_refused_with_a_reason,
    ]);
    tests
}

/// A folder with a file for each lock. A command locks this file, so two holders of one lock are noticed.
struct Marks(TempDir);

impl Marks {
    fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn path(&self, lock: &str) -> PathBuf {
        self.0.path().join(lock)
    }

    /// Starts a command under a lock. The command locks the lock's file, and then runs the shell line `line`.
    fn start(&self, daemon: &Daemon, lock: &str, options: &[&str], line: &str) -> Result<Running> {
        Running::start(&mut self.command(daemon, lock, options, line)?)
    }

    /// Starts a command that holds a lock until the end of its input, and then exits with 7. Waits until the command
    /// works.
    fn hold_until_input_ends(
        &self,
        daemon: &Daemon,
        lock: &str,
        options: &[&str],
    ) -> Result<Running> {
        let mut command = self.command(daemon, lock, options, "echo ready; read line; exit 7")?;
        let mut holder = Running::start(command.stdin(Stdio::piped()))?;
        holder.expect_line("ready")?;
        Ok(holder)
    }

    fn command(
        &self,
        daemon: &Daemon,
        lock: &str,
        options: &[&str],
        line: &str,
    ) -> Result<Command> {
        let mode = if options.contains(&"--shared") {
            "-s"
        } else {
            "-x"
        };
        let mark = self.path(lock);
        let mark = text(&mark)?;
        let line = format!("exec 9> {mark}; flock -n {mode} 9 || exit 99; {line}");
        let arguments = [
            &["run", "--name", lock],
            options,
            &["--", "sh", "-c", &line],
        ]
        .concat();
        Ok(ringctl(daemon, &arguments))
    }

    /// Starts a command that holds a lock until it is killed. Waits until the command works.
    fn hold(&self, daemon: &Daemon, lock: &str, options: &[&str]) -> Result<Running> {
        let mut holder = self.start(daemon, lock, options, "echo ready; exec sleep 1000")?;
        holder.expect_line("ready")?;
        Ok(holder)
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a plain path")
}

fn connect(daemon: &Daemon) -> Result<Client> {
    Client::connect(&daemon.control())
}

/// Waits until the locks that a daemon knows satisfy a condition.
fn wait_for_locks(daemon: &Daemon, wanted: impl Fn(&[Value]) -> bool) -> Result<()> {
    let deadline = std::time::Instant::now() + WAIT_LIMIT;
    loop {
        let locks = daemon.ask(&json!({"request": "locks"}), "locks")?;
        let locks = locks.as_array().context("a list")?;
        if wanted(locks) {
            return Ok(());
        }
        ensure!(std::time::Instant::now() < deadline, "{locks:?}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Waits until a daemon knows this number of holders of a lock, and this number of waiting programs.
fn wait_for_counts(daemon: &Daemon, lock: &str, holders: usize, waiting: usize) -> Result<()> {
    wait_for_locks(daemon, |locks| {
        let count = |held: bool| {
            let found = locks.iter().filter(|it| it["name"] == lock);
            found.filter(|it| it["held"] == held).count()
        };
        (count(true), count(false)) == (holders, waiting)
    })
}

fn two_locks_and_the_token_are_held_at_the_same_time_on_three_machines() -> Result<()> {
    let ring = shared_ring(3)?;
    let marks = Marks::new()?;
    let backup = marks.hold(&ring.daemons[0], "backup", &["-r", "quorum"])?;
    let index = marks.hold(&ring.daemons[1], "index", &[])?;
    let token = ringctl(
        &ring.daemons[2],
        &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"],
    );
    let mut token = Running::start(&mut { token })?;
    token.expect_line("ready")?;
    for daemon in &ring.daemons {
        wait_for_counts(daemon, "backup", 1, 0)?;
        wait_for_counts(daemon, "index", 1, 0)?;
    }
    // The leases of the named locks must last for several times their length, although another machine keeps the token.
    std::thread::sleep(4 * crate::locks::timing().waiter_timeout());
    wait_for_counts(&ring.daemons[2], "backup", 1, 0)?;
    wait_for_counts(&ring.daemons[2], "index", 1, 0)?;
    let output = ringctl(&ring.daemons[2], &["locks"]).output()?;
    let page = String::from_utf8(output.stdout)?;
    let macs: Vec<String> = ring.macs().iter().map(ToString::to_string).collect();
    for (line, lock, mac) in [(1, "backup", &macs[0]), (2, "index", &macs[1])] {
        let line = page.lines().nth(line).context("a line for each lock")?;
        let is_right = line.starts_with(lock) && line.contains(mac) && line.contains(" held ");
        ensure!(is_right, "{page}");
    }
    drop((backup, index, token));
    wait_for_locks(&ring.daemons[2], <[Value]>::is_empty)
}

fn a_lock_has_one_exclusive_holder_or_several_shared_holders() -> Result<()> {
    let ring = shared_ring(3)?;
    let marks = Marks::new()?;
    for options in [&[][..], &["-r", "quorum"]] {
        let mut commands = Vec::new();
        for _ in 0..3 {
            for daemon in &ring.daemons {
                commands.push(marks.start(daemon, "exclusive", options, "sleep 0.05")?);
            }
        }
        for command in &mut commands {
            command.expect_code(0)?;
        }
    }
    let shared: Result<Vec<Running>> = (ring.daemons.iter())
        .map(|daemon| marks.hold(daemon, "shared", &["--shared"]))
        .collect();
    let shared = shared?;
    let mut writer = marks.start(&ring.daemons[1], "shared", &[], "true")?;
    wait_for_counts(&ring.daemons[0], "shared", 3, 1)?;
    // A later reader waits for the writer.
    let mut reader = marks.start(&ring.daemons[2], "shared", &["--shared"], "true")?;
    wait_for_counts(&ring.daemons[0], "shared", 3, 2)?;
    drop(shared);
    writer.expect_code(0)?;
    reader.expect_code(0)
}

fn a_request_that_does_not_wait_is_refused_and_leaves_the_queue() -> Result<()> {
    let ring = shared_ring(3)?;
    let marks = Marks::new()?;
    let holder = marks.hold(&ring.daemons[0], "taken", &[])?;
    let mac = ring.macs()[0].to_string();
    for daemon in &ring.daemons {
        for options in [&["-n", "-E", "9"][..], &["-w", "0.2", "-E", "9"]] {
            let mut refused = marks.start(daemon, "taken", options, "exit 98")?;
            refused.expect_error(&mac)?;
            refused.expect_code(9)?;
        }
        wait_for_counts(daemon, "taken", 1, 0)?;
        let mut free = marks.start(daemon, "free", &["-n"], "exit 7")?;
        free.expect_code(7)?;
    }
    drop(holder);
    let mut next = marks.start(&ring.daemons[1], "taken", &["-w", "60"], "exit 7")?;
    next.expect_code(7)
}

fn a_script_holds_several_locks_and_releases_each_of_them() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let own = std::process::id().to_string();
    let run = |arguments: &[&str]| -> Result<String> {
        let arguments = [arguments, &["--pid", &own]].concat();
        let output = ringctl(daemon, &arguments).output()?;
        ensure!(output.status.success(), "{arguments:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    };
    let first = run(&["lock", "--name", "a"])?;
    let second = run(&["lock", "--name", "b", "--kill"])?;
    ensure!(run(&["lock", "--check", "--name", "a"])? == first);
    ensure!(run(&["lock", "--check", "--name", "b"])? == second);
    wait_for_locks(&ring.daemons[1], |locks| {
        let tokens: Vec<_> = locks.iter().map(|it| it["fencing"].as_str()).collect();
        tokens == [Some(first.trim()), Some(second.trim())]
    })?;
    run(&["unlock", "--name", "a"])?;
    wait_for_counts(&ring.daemons[1], "a", 0, 0)?;
    wait_for_counts(&ring.daemons[1], "b", 1, 0)?;
    run(&["unlock", "--name", "b"])?;
    let again = ringctl(daemon, &["unlock", "--name", "b", "--pid", &own]).output()?;
    let errors = String::from_utf8(again.stderr)?;
    ensure!(
        errors.contains("that process does not have the lock b"),
        "{errors}"
    );
    ensure!(again.status.code() == Some(1), "{}", again.status);
    Ok(())
}

fn a_long_lock_ends_by_itself_and_events_have_its_name() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[1];
    let mut watcher = connect(daemon)?;
    watcher.send(&json!({"request": "watch", "turns": false}))?;
    watcher.expect("snapshot")?;
    let marks = Marks::new()?;
    let mut long = marks.start(daemon, "long", &["--max-hold", "300ms"], "exec sleep 1000")?;
    long.expect_error("the lock long is lost, and the work under it was ended: --max-hold")?;
    long.expect_code(LOST_CODE)?;
    for name in ["lock_granted", "lock_lost"] {
        loop {
            let event = watcher.expect("event")?;
            if event["event"] == name && event["name"] == "long" {
                break;
            }
        }
    }
    wait_for_counts(daemon, "long", 0, 0)
}

fn wrong_requests_are_refused_with_a_reason() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let mut client = connect(daemon)?;
    let long = "x".repeat(65);
    for name in ["", "two words", "Zürich", long.as_str()] {
        client.send(&json!({"request": "named_lock", "name": name}))?;
        let error = client.expect("error")?;
        let text = error.as_str().context("a text")?;
        ensure!(text.contains("1 to 64 printable ASCII"), "{text}");
    }
    client.send(&json!({"request": "named_lock", "name": "x"}))?;
    let grant = client.expect("granted")?;
    client.send(&json!({"request": "lock"}))?;
    client.expect("error")?;
    // A program that runs under the lock would wait for its own end.
    let mut nested = ringctl(daemon, &["run", "--name", "x", "--", "true"]);
    nested.env("RINGD_TOKEN", grant["fencing"].as_str().unwrap_or_default());
    let nested = nested.output()?;
    let text = String::from_utf8(nested.stderr)?;
    ensure!(
        nested.status.code() == Some(1) && text.contains("its own end"),
        "{text}"
    );
    client.unlock()
}
