//! If a daemon or keeper does not answer, the waiting user gets a warning.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::locking::start;
use crate::program::Running;

tests! {
    a_daemon_that_does_not_answer_is_reported,
    a_daemon_that_answers_probes_is_not_reported,
    a_daemon_that_stops_during_the_wait_is_reported_soon,
    a_keeper_that_does_not_answer_is_reported_and_given_up,
    a_late_event_still_counts,
    a_label_has_a_maximum_length,
    a_too_long_socket_path_is_reported,
}

fn a_daemon_that_does_not_answer_is_reported() {
    let waits: [&[&str]; 13] = [
        &["status"],
        &["yield"],
        &["pause"],
        &["resume"],
        &["data", "get"],
        &["data", "set", "x"],
        &["wait", "owner"],
        &["watch"],
        &["watch", "--from", "7"],
        &["run", "true"],
        &["run", "-w", "60", "true"],
        &["lock"],
        &["lock", "--pipe"],
    ];
    for accepts in [true, false] {
        let waiting = waits.map(|arguments| {
            let fake = FakeDaemon::new();
            let running = start(&fake, arguments);
            let client = accepts.then(|| fake.next_client());
            (fake, client, running)
        });
        for (fake, _client, mut running) in waiting {
            let path = fake.path().display();
            running.wait_for_error(&format!(
                "waiting for ringd at {path}, which does not answer"
            ));
        }
    }
}

fn a_daemon_that_answers_probes_is_not_reported() {
    let fake = FakeDaemon::new();
    let mut run = Running::shell(&fake, "exit 5");
    let mut client = fake.next_client();
    // The daemon answers the probe, and may grant the lock later.
    fake.next_connection().answer_probe();
    fake.answer_probes();
    assert_eq!(client.request()["request"], "lock");
    client.grant(ENDLESS_LEASE);
    client.wait_for_unlock();
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(5));
    assert_eq!(stderr, "");
}

/// The warning is printed after 2 s, or later on a busy machine.
fn a_daemon_that_stops_during_the_wait_is_reported_soon() {
    const BOUND: Duration = Duration::from_secs(2 + 15);
    let waits: [&[&str]; 4] = [
        &["wait", "owner"],
        &["watch"],
        &["run", "true"],
        &["lock", "--pipe"],
    ];
    let waiting = waits.map(|arguments| {
        let fake = FakeDaemon::new();
        let running = start(&fake, arguments);
        let client = fake.next_client();
        fake.next_connection().answer_probe();
        (fake, client, running, Instant::now())
    });
    for (fake, _client, mut running, stopped) in waiting {
        running.wait_for_error("which does not answer");
        let late = stopped.elapsed();
        assert!(late < BOUND, "{late:?} after {}", fake.path().display());
    }
}

fn a_keeper_that_does_not_answer_is_reported_and_given_up() {
    let fake = FakeDaemon::new();
    let pid = std::process::id().to_string();
    let mut lock = start(&fake, &["lock", "--pid", &pid]);
    let client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(lock.code(), Some(0));
    let _stopped = Stopped::new(client.pid());
    let keeper = format!("ringd-keeper (process {})", client.pid());
    let asks: [&[&str]; 2] = [&["lock", "--check"], &["unlock"]];
    for mut asks in asks.map(|ask| start(&fake, &[ask, &["--pid", &pid]].concat())) {
        asks.wait_for_error(&format!("waiting for {keeper}, which does not answer"));
        let (status, stderr) = asks.end();
        assert_eq!(status.code(), Some(3), "{stderr}");
        assert!(
            stderr.contains(&format!("no answer from {keeper} for 5 s")),
            "{stderr}"
        );
    }
}

/// A stopped process. At the end of the test, this process is killed.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: Pid) -> Self {
        kill(pid, Signal::SIGSTOP).expect("it lives");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
    }
}

fn a_late_event_still_counts() {
    let fake = FakeDaemon::new();
    let mut wait = start(&fake, &["wait", "held"]);
    let mut client = fake.next_client();
    assert_eq!(client.request(), json!({"request": "watch"}));
    wait.wait_for_error("does not answer");
    client.send(&json!({"event": {
        "number": 1,
        "time_ms": 1_000,
        "event": "lock_granted",
        "state": "OWNER",
        "token": Value::Null,
        "owner": Value::Null,
        "grade": "alone",
    }}));
    assert_eq!(wait.code(), Some(0));
}

fn a_label_has_a_maximum_length() {
    let fake = FakeDaemon::new();
    let mut long = start(&fake, &["run", "--label", &"x".repeat(4000), "true"]);
    let (status, stderr) = long.end();
    assert_eq!(status.code(), Some(2));
    assert!(stderr.contains("a label has at most 255"), "{stderr}");
    assert!(stderr.len() < 400, "the error is too long: {stderr}");

    let longest = "\u{1}".repeat(255);
    let mut run = start(&fake, &["run", "--label", &longest, "true"]);
    let mut client = fake.next_client();
    assert_eq!(client.request()["label"], longest.as_str());
    client.grant(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(0));
}

fn a_too_long_socket_path_is_reported() {
    let fake = FakeDaemon::new();
    let path = format!("/{}/eth0.sock", "x".repeat(3900));
    let mut command = std::process::Command::new(crate::program::RINGCTL);
    command.args(["--socket", &path, "run", "true"]);
    let (status, stderr) = Running::start(command.stdin(Stdio::null())).end();
    assert_eq!(status.code(), Some(3));
    assert!(stderr.contains("cannot reach ringd at /xxx"), "{stderr}");
    drop(fake);
}
