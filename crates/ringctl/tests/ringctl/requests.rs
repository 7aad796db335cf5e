//! Commands with a single request.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{Running, ringctl};

tests! {
    a_request_is_sent_and_its_answer_gives_the_exit_code,
    quiet_hides_a_refusal_but_not_an_error,
    data_are_printed_in_digits_or_unchanged,
    data_are_set_under_the_callers_lock,
    a_hook_does_not_count_as_a_holder,
    a_holder_that_requests_a_lock_sends_its_own_token,
    data_are_set_under_a_new_lock,
    too_long_data_are_refused,
    watch_prints_events_and_where_to_continue,
    watch_escapes_control_characters_of_a_label,
    watch_prints_events_unchanged_as_json,
    wait_ends_when_the_state_is_reached,
}

/// Starts `ringctl` with these arguments.
fn start(fake: &FakeDaemon, arguments: &[&str]) -> Running {
    Running::start(ringctl(fake).args(arguments).stdin(Stdio::piped()))
}

fn token() -> Value {
    json!({"progress": 1795, "author": "02:00:00:00:00:01", "number": 7, "fencing": "1795-02:00:00:00:00:01-7"})
}

fn event(number: u64, from: &str, state: &str) -> Value {
    json!({"event": {
        "number": number,
        "time_ms": 1_000,
        "event": "state_changed",
        "from": from,
        "state": state,
        "reason": "token_taken",
        "token": token(),
        "owner": "02:00:00:00:00:01",
        "grade": "alone",
    }})
}

fn a_request_is_sent_and_its_answer_gives_the_exit_code() {
    let cases = [
        (&["yield"][..], json!({"request": "yield"})),
        (
            &["yield", "02:00:00:00:00:02"],
            json!({"request": "yield", "to": "02:00:00:00:00:02"}),
        ),
        (
            &["forget", "02:00:00:00:00:02"],
            json!({"request": "forget", "member": "02:00:00:00:00:02"}),
        ),
    ];
    for (arguments, request) in cases {
        for (answer, code) in [(json!({"done": {}}), 0), (json!({"error": "not owner"}), 1)] {
            let fake = FakeDaemon::new();
            let mut order = start(&fake, arguments);
            let mut client = fake.next_client();
            assert_eq!(client.request(), request);
            client.send(&answer);
            let (status, stderr) = order.end();
            assert_eq!(status.code(), Some(code));
            assert_eq!(stderr.contains("not owner"), code == 1, "{stderr}");
        }
    }
}

fn quiet_hides_a_refusal_but_not_an_error() {
    let refused = json!({"refused": {"why": "busy", "text": "somebody works with it"}});
    for (arguments, says) in [
        (&["run", "-n", "true"][..], true),
        (&["run", "-nq", "true"], false),
    ] {
        let fake = FakeDaemon::new();
        let mut run = start(&fake, arguments);
        let mut client = fake.next_client();
        client.request();
        client.send(&refused);
        let (status, stderr) = run.end();
        assert_eq!(status.code(), Some(1));
        assert_eq!(stderr.contains("somebody works with it"), says, "{stderr}");
    }
    let fake = FakeDaemon::new();
    let mut run = start(&fake, &["-q", "run", "-n", "true"]);
    let mut client = fake.next_client();
    client.request();
    client.send(&json!({"error": "the disk is full"}));
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("the disk is full"), "{stderr}");
}

fn data_are_printed_in_digits_or_unchanged() {
    for (arguments, shown) in [
        (&["data", "get"][..], "6869\n"),
        (&["data", "get", "--raw"], "hi"),
    ] {
        let fake = FakeDaemon::new();
        let mut get = start(&fake, arguments);
        let mut client = fake.next_client();
        assert_eq!(client.request(), json!({"request": "data_get"}));
        client.send(&json!({"data": {"hex": "6869", "token": token()}}));
        assert_eq!(get.rest(), shown);
        assert_eq!(get.code(), Some(0));
    }
}

fn data_are_set_under_the_callers_lock() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    command.env("RINGD_LOCK", "1795-02:00:00:00:00:01-7");
    let mut set = Running::start(command.args(["data", "set", "hi"]));
    let mut client = fake.next_client();
    assert_eq!(
        client.request(),
        json!({"request": "data_set", "hex": "6869", "token": "1795-02:00:00:00:00:01-7"})
    );
    client.send(&json!({"done": {}}));
    assert_eq!(set.code(), Some(0));
}

/// A hook has the variable RINGD_TOKEN, but no lock. The variable contains the token of the ring's owner.
fn a_hook_does_not_count_as_a_holder() {
    for (arguments, label) in [
        (&["run", "true"][..], "true"),
        (&["data", "set", "hi"], "data set"),
    ] {
        let fake = FakeDaemon::new();
        let mut command = ringctl(&fake);
        command.env("RINGD_TOKEN", "1795-02:00:00:00:00:01-7");
        command.env("RINGD_EVENT", "state_changed");
        let _asks = Running::start(command.args(arguments));
        let lock = json!({"request": "lock", "label": label});
        assert_eq!(fake.next_client().request(), lock, "{arguments:?}");
    }
}

fn a_holder_that_requests_a_lock_sends_its_own_token() {
    let fake = FakeDaemon::new();
    let mut command = ringctl(&fake);
    let under = "1795-02:00:00:00:00:01-7";
    let _asks = Running::start(command.env("RINGD_LOCK", under).args(["run", "true"]));
    let lock = json!({"request": "lock", "label": "true", "under": under});
    assert_eq!(fake.next_client().request(), lock);
}

fn data_are_set_under_a_new_lock() {
    let fake = FakeDaemon::new();
    let mut set = start(&fake, &["data", "set", "-w", "5", "-"]);
    set.write_input(&[0, 255]);
    set.close_input();
    let mut client = fake.next_client();
    assert_eq!(
        client.request(),
        json!({"request": "lock", "label": "data set", "wait_ms": 5000})
    );
    client.grant(ENDLESS_LEASE);
    client.renew(ENDLESS_LEASE);
    assert_eq!(
        client.request(),
        json!({"request": "data_set", "hex": "00ff"})
    );
    client.send(&json!({"done": {}}));
    client.wait_for_unlock();
    assert_eq!(set.code(), Some(0));
}

fn too_long_data_are_refused() {
    let fake = FakeDaemon::new();
    let mut set = start(&fake, &["data", "set", &"x".repeat(1025)]);
    let (status, stderr) = set.end();
    assert_eq!(status.code(), Some(1));
    assert!(
        stderr.contains("data too long: 1,025 bytes, at most 1,024"),
        "{stderr}"
    );
}

fn watch_prints_events_and_where_to_continue() {
    let fake = FakeDaemon::new();
    let mut watch = start(&fake, &["watch", "--from", "16"]);
    let mut client = fake.next_client();
    assert_eq!(
        client.request(),
        json!({"request": "watch", "from": 16, "turns": false})
    );
    client.send(&event(16, "WAITER", "OWNER"));
    assert_eq!(
        watch.line(),
        "16 1970-01-01T00:00:01.000Z state_changed WAITER->OWNER token \
         1795-02:00:00:00:00:01-7 owner 02:00:00:00:00:01 grade alone reason token_taken"
    );
    client.send(&json!({"news": "of a later version"}));
    client.send(&event(17, "OWNER", "WAITER"));
    assert!(watch.line().starts_with("17 "));
    drop(client);
    let (status, stderr) = watch.end();
    assert_eq!(status.code(), Some(3));
    assert!(stderr.contains("--from 18"), "{stderr}");
}

fn watch_escapes_control_characters_of_a_label() {
    let fake = FakeDaemon::new();
    let mut watch = start(&fake, &["watch"]);
    let mut client = fake.next_client();
    client.request();
    let mut stderr = event(1, "WAITER", "OWNER");
    stderr["event"]["label"] = json!("Bob's \u{1b}[2J\u{202e}x\nnightly report: größer");
    client.send(&stderr);
    let line = watch.line();
    let label = r"label Bob's \u{1b}[2J\u{202e}x\nnightly report: größer";
    assert!(line.ends_with(label), "{line}");
}

fn watch_prints_events_unchanged_as_json() {
    let fake = FakeDaemon::new();
    let mut watch = start(&fake, &["watch", "--json", "--turns"]);
    let mut client = fake.next_client();
    assert_eq!(client.request(), json!({"request": "watch"}));
    let stderr = event(1, "LOOSER", "GENERATING");
    client.send(&stderr);
    let shown: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!(shown, stderr);
}

fn wait_ends_when_the_state_is_reached() {
    let fake = FakeDaemon::new();
    let mut wait = start(&fake, &["wait", "owner"]);
    let mut client = fake.next_client();
    assert_eq!(client.request(), json!({"request": "watch"}));
    client.send(&event(1, "LOOSER", "GENERATING"));
    client.send(&event(2, "GENERATING", "OWNER"));
    assert_eq!(wait.code(), Some(0));

    let mut wait = start(&fake, &["wait", "WAITER", "-w", "0.1"]);
    let mut client = fake.next_client();
    client.request();
    assert_eq!(wait.code(), Some(1));

    let mut wait = start(&fake, &["wait", "WAITER"]);
    drop(fake.next_client());
    assert_eq!(wait.code(), Some(3));
}
