//! `ringctl run` when nothing goes wrong, and when there is no lock.

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};

use crate::fake::{Fake, LONG};
use crate::program::{Running, ringctl};

tests! {
    the_exit_code_of_the_command_is_passed_on,
    a_real_time_signal_ends_a_command_like_others,
    the_command_runs_only_while_the_lock_is_held,
    input_and_output_pass_through,
    the_command_is_told_about_the_lock,
    the_command_inherits_nothing_but_the_line_that_ends_it_with_its_keeper,
    what_is_wanted_is_what_is_asked_for,
    a_lock_that_is_not_to_be_had_has_its_exit_code,
    who_waits_in_vain_since_the_keeper_was_killed_is_told_that,
    no_daemon_and_an_error_of_its_have_their_exit_codes,
    a_daemon_that_says_nothing_is_not_waited_for_longer_than_was_wished,
    data_that_are_set_under_a_lock_are_not_waited_for_without_end,
    a_command_that_cannot_be_run_has_the_exit_codes_of_shells,
    the_lock_is_given_back_when_nothing_of_the_command_is_left,
    renewals_keep_a_short_lease_going,
}

fn the_exit_code_of_the_command_is_passed_on() {
    for (line, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 128 + 9)] {
        let fake = Fake::new();
        let mut run = Running::shell(&fake, line);
        let mut client = fake.grant(LONG);
        client.unlocked();
        assert_eq!(run.code(), Some(code), "{line}");
        assert_eq!(client.request(), Value::Null);
    }
}

fn a_real_time_signal_ends_a_command_like_others() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "kill -40 $$");
    fake.grant(LONG).unlocked();
    assert_eq!(run.code(), Some(128 + 40));
}

fn the_command_runs_only_while_the_lock_is_held() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "echo works; cat");
    let mut client = fake.client();
    assert_eq!(client.request(), json!({"request": "lock", "label": "sh"}));
    client.grant(LONG);
    assert_eq!(run.line(), "works");
    client.unlocked();
    assert_eq!(run.code(), Some(0));
}

fn input_and_output_pass_through() {
    let fake = Fake::new();
    let mut command = ringctl(&fake);
    command.stdin(Stdio::piped());
    let mut run = Running::start(command.args(["run", "--", "tr", "a-z", "A-Z"]));
    let mut client = fake.grant(LONG);
    run.types(b"abc\n");
    run.close_input();
    client.unlocked();
    assert_eq!(run.rest(), "ABC\n");
}

fn the_command_is_told_about_the_lock() {
    let fake = Fake::new();
    let shown = "test $RINGD_LOCK = $RINGD_TOKEN && echo $RINGD_TOKEN $RINGD_PROGRESS $RINGD_GRADE $RINGD_DATA";
    let mut run = Running::shell(&fake, shown);
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "1795-02:00:00:00:00:01-7 1795 alone 00ff");
    client.unlocked();
}

fn the_command_inherits_nothing_but_the_line_that_ends_it_with_its_keeper() {
    let fake = Fake::new();
    let list = ["ls", "/proc/self/fd"];
    let mut plain = Command::new(list[0]);
    let mut plain = Running::start(plain.arg(list[1]).stdin(Stdio::null()));
    let mut run = Running::run(&fake, &list);
    fake.grant(LONG).unlocked();
    let (its, plain) = (run.rest(), plain.rest());
    let more = its.lines().filter(|fd| !plain.lines().any(|it| it == *fd));
    assert_eq!(more.count(), 1, "{its} of {plain}");
}

fn what_is_wanted_is_what_is_asked_for() {
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
        let fake = Fake::new();
        let mut run = Running::run(&fake, arguments);
        let mut client = fake.client();
        assert_eq!(client.request(), request);
        client.grant(LONG);
        client.unlocked();
        assert_eq!(run.code(), Some(0));
    }
}

fn a_lock_that_is_not_to_be_had_has_its_exit_code() {
    for (arguments, code) in [(&["-n", "true"][..], 1), (&["-nE", "9", "true"], 9)] {
        let fake = Fake::new();
        let mut run = Running::run(&fake, arguments);
        let mut client = fake.client();
        client.request();
        client.say(&json!({"refused": {"why": "busy", "text": "backup has it"}}));
        let (status, said) = run.end();
        assert_eq!(status.code(), Some(code));
        assert!(said.contains("backup has it"), "{said}");
    }
}

fn who_waits_in_vain_since_the_keeper_was_killed_is_told_that() {
    for arguments in [
        &["run", "true"][..],
        &["once", "x", "--every", "1h", "true"],
        &["lock"],
    ] {
        let fake = Fake::new();
        let mut run = Running::start(ringctl(&fake).args(arguments).stdin(Stdio::null()));
        let mut client = fake.client();
        client.request();
        kill(client.pid(), Signal::SIGKILL).expect("it is the keeper");
        let (status, said) = run.end();
        assert_eq!(status.code(), Some(1));
        let text = "the process that waits for the token (ringd-keeper) was killed";
        assert!(said.contains(text), "{said}");
    }
}

fn no_daemon_and_an_error_of_its_have_their_exit_codes() {
    let fake = Fake::new();
    std::fs::remove_file(fake.path()).unwrap();
    let mut run = Running::run(&fake, &["true"]);
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(3));
    assert!(said.contains("cannot reach ringd at"), "{said}");
    let reasons = said.matches("No such file or directory").count();
    assert_eq!(reasons, 1, "once: {said}");

    let fake = Fake::new();
    let mut run = Running::run(&fake, &["-E", "9", "true"]);
    let mut client = fake.client();
    client.request();
    client.say(&json!({"error": "too many clients"}));
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("too many clients"), "{said}");

    let fake = Fake::new();
    let mut run = Running::run(&fake, &["true"]);
    drop(fake.client());
    assert_eq!(
        run.code(),
        Some(3),
        "the daemon ends while it is waited for"
    );
}

fn a_daemon_that_says_nothing_is_not_waited_for_longer_than_was_wished() {
    let waits: [&[&str]; 5] = [
        &["run", "-n", "true"],
        &["run", "-w", "0.1", "true"],
        &["lock", "-w", "0.1"],
        &["lock", "-w", "0.1", "--pipe"],
        &["data", "set", "-w", "0.1", "x"],
    ];
    for accepts in [true, false] {
        let silent = waits.map(|arguments| {
            let fake = Fake::new();
            let run = Running::start(ringctl(&fake).args(arguments).stdin(Stdio::null()));
            let client = accepts.then(|| fake.client());
            (arguments, fake, client, run)
        });
        for (arguments, _fake, _client, mut run) in silent {
            let (status, said) = run.end();
            assert_eq!(status.code(), Some(3), "{arguments:?}: {said}");
            assert!(said.contains("stopped, or hangs"), "{arguments:?}: {said}");
        }
    }
}

fn data_that_are_set_under_a_lock_are_not_waited_for_without_end() {
    let fake = Fake::new();
    let mut set = ringctl(&fake);
    let mut set = Running::start(set.args(["data", "set", "x"]).stdin(Stdio::null()));
    let mut client = fake.grant(LONG);
    assert_eq!(client.request()["request"], "data_set");
    let (status, said) = set.end();
    assert_eq!(status.code(), Some(3), "{said}");
}

fn a_command_that_cannot_be_run_has_the_exit_codes_of_shells() {
    for (command, code) in [("/no/such/command", 127), ("/", 126)] {
        let fake = Fake::new();
        let mut run = Running::run(&fake, &[command]);
        fake.grant(LONG).unlocked();
        let (status, said) = run.end();
        assert_eq!(status.code(), Some(code));
        assert!(said.contains(command), "{said}");
    }
}

fn the_lock_is_given_back_when_nothing_of_the_command_is_left() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "sleep 1000 & echo $!; exit 5");
    let mut client = fake.grant(LONG);
    let left_behind = run.line();
    assert_eq!(client.request()["request"], "unlock");
    let stat = std::fs::read_to_string(format!("/proc/{left_behind}/stat"));
    assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(" Z ")));
    client.say(&json!({"unlocked": {}}));
    assert_eq!(run.code(), Some(5));
}

fn renewals_keep_a_short_lease_going() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "sleep 5.5; exit 5");
    let mut client = fake.grant(Duration::from_secs(5));
    client.renew(LONG);
    client.unlocked();
    assert_eq!(run.code(), Some(5));
}
