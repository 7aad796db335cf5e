//! `ringctl top` into a pipe.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::fake::FakeDaemon;
use crate::program::{Running, ringctl};
use crate::top::Ring;

tests! {
    into_a_pipe_it_prints_snapshots,
    snapshots_without_an_answer_do_not_count,
    an_unreadable_first_answer_is_an_error,
    it_ends_with_the_reader_of_its_output,
    without_a_daemon_it_fails_at_once,
}

fn into_a_pipe_it_prints_snapshots() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    command.args(["top", "--interval", "100ms", "-n", "2"]);
    let mut top = Running::start(command.env("LANG", "C.UTF-8").stdin(Stdio::null()));
    let _client = Ring::new().serve(&fake);
    assert_eq!(top.code(), Some(0));
    let text = top.rest();
    assert_eq!(text.matches("Members (4)").count(), 2, "{text}");
    assert_eq!(text.matches("Hops 0.0/s").count(), 1, "{text}");
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text:?}");
}

fn snapshots_without_an_answer_do_not_count() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    let mut top = Running::start(command.args(["top", "-n", "2"]).stdin(Stdio::null()));
    for _ in 0..2 {
        let mut client = fake.next_client();
        let requests = ["watch", "status"].map(|_| client.request()["request"].clone());
        assert_eq!(requests, ["watch", "status"]);
        client.send(&json!({"status": {"system": "note", "health": "healthy", "role": "x"}}));
    }
    assert_eq!(top.code(), Some(0));
    let text = top.rest();
    assert_eq!(text.matches("no answer, since").count(), 1, "{text}");
    assert_eq!(text.matches(" healthy\n").count(), 2, "{text}");
}

fn an_unreadable_first_answer_is_an_error() {
    for (reply, expected) in [
        (
            json!({"status": {"system": "ftn"}}),
            "run the same version of ringd and ringctl",
        ),
        (
            json!({"error": "too many clients"}),
            "ringd refuses: too many clients",
        ),
    ] {
        let fake = FakeDaemon::new();
        let mut command = ringctl(&fake);
        let mut top = Running::start(command.args(["top", "-n", "1"]).stdin(Stdio::null()));
        let mut client = fake.next_client();
        client.request();
        client.request();
        client.send(&reply);
        let (status, errors) = top.end();
        assert_eq!(status.code(), Some(1), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
}

fn it_ends_with_the_reader_of_its_output() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    command.args(["top", "--interval", "100ms"]);
    let mut top = Running::start(command.stdin(Stdio::null()));
    let _client = Ring::new().serve(&fake);
    assert!(top.line().ends_with('Z'), "a time");
    assert!(top.line().contains("on eth0"));
    top.close_output();
    assert_eq!(top.code(), Some(0));
}

fn without_a_daemon_it_fails_at_once() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    fs::remove_file(fake.path()).expect("it is there");
    let mut top = Running::start(command.arg("top").stdin(Stdio::null()));
    let (status, errors) = top.end();
    assert_eq!(status.code(), Some(3), "{errors}");
    assert!(errors.contains("cannot reach ringd"), "{errors}");
}
