//! A daemon that is stopped: who waits for it is told.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fake::{Fake, LONG};
use crate::program::{Running, ringctl};

tests! {
    who_waits_for_a_daemon_that_does_not_answer_is_told,
    who_waits_for_a_daemon_that_is_there_is_told_nothing,
    who_waits_is_told_soon_after_a_daemon_that_was_there_has_stopped,
    who_asks_for_a_keeper_that_does_not_answer_is_told_and_does_not_wait_for_ever,
    what_comes_late_is_taken_all_the_same,
    a_label_that_is_too_long_is_refused_and_the_longest_is_not,
    a_socket_whose_path_is_too_long_is_told_of,
}

fn start(fake: &Fake, arguments: &[&str]) -> Running {
    Running::start(ringctl(fake).args(arguments).stdin(Stdio::null()))
}

fn who_waits_for_a_daemon_that_does_not_answer_is_told() {
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
            let fake = Fake::new();
            let running = start(&fake, arguments);
            let client = accepts.then(|| fake.client());
            (fake, client, running)
        });
        for (fake, _client, mut running) in waiting {
            let path = fake.path().display();
            running.complains(&format!(
                "waiting for ringd at {path}, which does not answer"
            ));
        }
    }
}

fn who_waits_for_a_daemon_that_is_there_is_told_nothing() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "exit 5");
    let mut client = fake.client();
    // It is asked whether it is there, and the lock has its time.
    fake.any_client().is_there();
    fake.answer_probes();
    assert_eq!(client.request()["request"], "lock");
    client.grant(LONG);
    client.unlocked();
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(5));
    assert_eq!(said, "");
}

/// When it is said is bounded, by what a busy machine may add to two seconds.
fn who_waits_is_told_soon_after_a_daemon_that_was_there_has_stopped() {
    const BOUND: Duration = Duration::from_secs(2 + 15);
    let waits: [&[&str]; 4] = [
        &["wait", "owner"],
        &["watch"],
        &["run", "true"],
        &["lock", "--pipe"],
    ];
    let waiting = waits.map(|arguments| {
        let fake = Fake::new();
        let running = start(&fake, arguments);
        let client = fake.client();
        fake.any_client().is_there();
        (fake, client, running, Instant::now())
    });
    for (fake, _client, mut running, stopped) in waiting {
        running.complains("which does not answer");
        let late = stopped.elapsed();
        assert!(late < BOUND, "{late:?} after {}", fake.path().display());
    }
}

fn who_asks_for_a_keeper_that_does_not_answer_is_told_and_does_not_wait_for_ever() {
    let fake = Fake::new();
    let pid = std::process::id().to_string();
    let mut lock = start(&fake, &["lock", "--pid", &pid]);
    let client = fake.grant(LONG);
    assert_eq!(lock.code(), Some(0));
    let _stopped = Stopped::new(client.pid());
    let keeper = format!("ringd-keeper (process {})", client.pid());
    let asks: [&[&str]; 2] = [&["lock", "--check"], &["unlock"]];
    for mut asks in asks.map(|ask| start(&fake, &[ask, &["--pid", &pid]].concat())) {
        asks.complains(&format!("waiting for {keeper}, which does not answer"));
        let (status, said) = asks.end();
        assert_eq!(status.code(), Some(3), "{said}");
        assert!(
            said.contains(&format!("no answer from {keeper} for 5 s")),
            "{said}"
        );
    }
}

/// A process that is stopped, and killed at the end of the test.
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

fn what_comes_late_is_taken_all_the_same() {
    let fake = Fake::new();
    let mut wait = start(&fake, &["wait", "held"]);
    let mut client = fake.client();
    assert_eq!(client.request(), json!({"request": "watch"}));
    wait.complains("does not answer");
    client.say(&json!({"event": {
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

fn a_label_that_is_too_long_is_refused_and_the_longest_is_not() {
    let fake = Fake::new();
    let mut long = start(&fake, &["run", "--label", &"x".repeat(4000), "true"]);
    let (status, said) = long.end();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("a label has at most 255"), "{said}");
    assert!(said.len() < 400, "the reason is hard to find: {said}");

    let longest = "\u{1}".repeat(255);
    let mut run = start(&fake, &["run", "--label", &longest, "true"]);
    let mut client = fake.client();
    assert_eq!(client.request()["label"], longest.as_str());
    client.grant(LONG);
    client.unlocked();
    assert_eq!(run.code(), Some(0));
}

fn a_socket_whose_path_is_too_long_is_told_of() {
    let fake = Fake::new();
    let path = format!("/{}/eth0.sock", "x".repeat(3900));
    let mut command = std::process::Command::new(crate::program::RINGCTL);
    command.args(["--socket", &path, "run", "true"]);
    let (status, said) = Running::start(command.stdin(Stdio::null())).end();
    assert_eq!(status.code(), Some(3));
    assert!(said.contains("cannot reach ringd at /xxx"), "{said}");
    drop(fake);
}
