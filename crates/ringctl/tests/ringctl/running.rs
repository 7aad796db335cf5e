//! `ringctl run` with a lock that is not lost, and without a lock.

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{Running, ringctl};

tests! {
    the_commands_exit_code_is_returned,
    a_real_time_signal_gives_an_exit_code_too,
    the_command_runs_only_while_the_lock_is_held,
    input_and_output_pass_through,
    the_environment_describes_the_lock,
    the_command_inherits_only_the_life_line,
    the_request_follows_the_options,
    a_refused_lock_has_its_exit_code,
    the_death_of_a_waiting_keeper_is_reported,
    a_missing_daemon_and_its_error_have_their_exit_codes,
    the_wait_for_a_silent_daemon_ends_in_time,
    the_wait_for_setting_data_is_limited,
    a_command_that_cannot_be_run_has_the_exit_code_of_shells,
    the_lock_is_released_after_the_end_of_all_processes,
    renewals_extend_a_short_lease,
}

fn the_commands_exit_code_is_returned() {
    for (line, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 128 + 9)] {
        let (_fake, mut run, mut client) = Running::spawn_granted(line);
        client.wait_for_unlock();
        assert_eq!(run.code(), Some(code), "{line}");
        assert_eq!(client.request(), Value::Null);
    }
}

fn a_real_time_signal_gives_an_exit_code_too() {
    let (_fake, mut run, mut client) = Running::spawn_granted("kill -40 $$");
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(128 + 40));
}

fn the_command_runs_only_while_the_lock_is_held() {
    let fake = FakeDaemon::new();
    let mut run = Running::shell(&fake, "echo works; cat");
    let mut client = fake.next_client();
    assert_eq!(client.request(), json!({"request": "lock", "label": "sh"}));
    client.grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "works");
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(0));
}

fn input_and_output_pass_through() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    command.stdin(Stdio::piped());
    let mut run = Running::start(command.args(["run", "--", "tr", "a-z", "A-Z"]));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    run.write_input(b"abc\n");
    run.close_input();
    client.wait_for_unlock();
    assert_eq!(run.rest(), "ABC\n");
}

fn the_environment_describes_the_lock() {
    let fake = FakeDaemon::new();
    let shown = "test $RINGD_LOCK = $RINGD_TOKEN && echo $RINGD_TOKEN $RINGD_PROGRESS $RINGD_GRADE $RINGD_DATA";
    let mut run = Running::shell(&fake, shown);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "1795-02:00:00:00:00:01-7 1795 alone 00ff");
    client.wait_for_unlock();
}

fn the_command_inherits_only_the_life_line() {
    let fake = FakeDaemon::new();
    let list = ["ls", "/proc/self/fd"];
    let mut plain = Command::new(list[0]);
    let mut plain = Running::start(plain.arg(list[1]).stdin(Stdio::null()));
    let mut run = Running::run(&fake, &list);
    fake.accept_and_grant(ENDLESS_LEASE).wait_for_unlock();
    let (its, plain) = (run.rest(), plain.rest());
    let more = its.lines().filter(|fd| !plain.lines().any(|it| it == *fd));
    assert_eq!(more.count(), 1, "{its} of {plain}");
}

fn the_request_follows_the_options() {
    let cases = [
        (
            &["-n", "--", "/bin/true"][..],
            json!({"request": "lock", "label": "true", "wait_ms": 0}),
        ),
        (
            &["-w", "0.25", "true"],
            json!({"request": "lock", "label": "true", "wait_ms": 250}),
        ),
        (
            &["--label", "backup", "--max-hold", "30s", "true"],
            json!({"request": "lock", "label": "backup", "max_hold_ms": 30_000}),
        ),
    ];
    for (arguments, request) in cases {
        let fake = FakeDaemon::new();
        let mut run = Running::run(&fake, arguments);
        let mut client = fake.next_client();
        assert_eq!(client.request(), request);
        client.grant(ENDLESS_LEASE);
        client.wait_for_unlock();
        assert_eq!(run.code(), Some(0));
    }
}

fn a_refused_lock_has_its_exit_code() {
    for (arguments, code) in [(&["-n", "true"][..], 1), (&["-nE", "9", "true"], 9)] {
        let fake = FakeDaemon::new();
        let mut run = Running::run(&fake, arguments);
        let mut client = fake.next_client();
        client.request();
        client.send(&json!({"refused": {"why": "busy", "text": "backup has it"}}));
        let (status, stderr) = run.end();
        assert_eq!(status.code(), Some(code));
        assert!(stderr.contains("backup has it"), "{stderr}");
    }
}

fn the_death_of_a_waiting_keeper_is_reported() {
    for arguments in [
        &["run", "true"][..],
        &["once", "x", "--every", "1h", "true"],
        &["lock"],
    ] {
        let fake = FakeDaemon::new();
        let mut run = Running::start(ringctl(&fake).args(arguments).stdin(Stdio::null()));
        let mut client = fake.next_client();
        client.request();
        kill(client.pid(), Signal::SIGKILL).expect("it is the keeper");
        let (status, stderr) = run.end();
        assert_eq!(status.code(), Some(1));
        let text = "the process that waits for it (ringd-keeper) was killed";
        assert!(stderr.contains(text), "{stderr}");
    }
}

fn a_missing_daemon_and_its_error_have_their_exit_codes() {
    let fake = FakeDaemon::new();
    std::fs::remove_file(fake.path()).unwrap();
    for arguments in [&["run", "true"][..], &["status"]] {
        let mut run = Running::start(ringctl(&fake).args(arguments).stdin(Stdio::null()));
        let (status, stderr) = run.end();
        assert_eq!(status.code(), Some(3));
        assert!(stderr.contains("cannot reach ringd at"), "{stderr}");
        let reasons = stderr.matches("No such file or directory").count();
        assert_eq!(reasons, 1, "once: {stderr}");
    }

    let fake = FakeDaemon::new();
    let mut run = Running::run(&fake, &["-E", "9", "true"]);
    let mut client = fake.next_client();
    client.request();
    client.send(&json!({"error": "too many clients"}));
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("too many clients"), "{stderr}");

    let fake = FakeDaemon::new();
    let mut run = Running::run(&fake, &["true"]);
    drop(fake.next_client());
    assert_eq!(run.code(), Some(3), "the daemon ends during the wait");
}

fn the_wait_for_a_silent_daemon_ends_in_time() {
    let waits: [&[&str]; 5] = [
        &["run", "-n", "true"],
        &["run", "-w", "0.1", "true"],
        &["lock", "-w", "0.1"],
        &["lock", "-w", "0.1", "--pipe"],
        &["data", "set", "-w", "0.1", "x"],
    ];
    for accepts in [true, false] {
        let silent = waits.map(|arguments| {
            let fake = FakeDaemon::new();
            let run = Running::start(ringctl(&fake).args(arguments).stdin(Stdio::null()));
            let client = accepts.then(|| fake.next_client());
            (arguments, fake, client, run)
        });
        for (arguments, _fake, _client, mut run) in silent {
            let (status, stderr) = run.end();
            assert_eq!(status.code(), Some(3), "{arguments:?}: {stderr}");
            assert!(
                stderr.contains("stopped, or hangs"),
                "{arguments:?}: {stderr}"
            );
        }
    }
}

fn the_wait_for_setting_data_is_limited() {
    let fake = FakeDaemon::new();
    let mut set = ringctl(&fake);
    let mut set = Running::start(set.args(["data", "set", "x"]).stdin(Stdio::null()));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(client.request()["request"], "data_set");
    let (status, stderr) = set.end();
    assert_eq!(status.code(), Some(3), "{stderr}");
}

fn a_command_that_cannot_be_run_has_the_exit_code_of_shells() {
    for (command, code) in [("/no/such/command", 127), ("/", 126)] {
        let fake = FakeDaemon::new();
        let mut run = Running::run(&fake, &[command]);
        fake.accept_and_grant(ENDLESS_LEASE).wait_for_unlock();
        let (status, stderr) = run.end();
        assert_eq!(status.code(), Some(code));
        assert!(stderr.contains(command), "{stderr}");
    }
}

fn the_lock_is_released_after_the_end_of_all_processes() {
    let (_fake, mut run, mut client) = Running::spawn_granted("sleep 1000 & echo $!; exit 5");
    let left_behind = run.line();
    assert_eq!(client.request()["request"], "unlock");
    let stat = std::fs::read_to_string(format!("/proc/{left_behind}/stat"));
    assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(" Z ")));
    client.send(&json!({"unlocked": {}}));
    assert_eq!(run.code(), Some(5));
}

fn renewals_extend_a_short_lease() {
    let fake = FakeDaemon::new();
    let mut run = Running::shell(&fake, "sleep 5.5; exit 5");
    let mut client = fake.accept_and_grant(Duration::from_secs(5));
    client.renew(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(5));
}
