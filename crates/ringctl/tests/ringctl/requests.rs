//! The commands that ask for one thing.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::fake::{Fake, LONG};
use crate::program::{Running, ringctl};

tests! {
    orders_are_asked_for_and_their_answer_is_the_exit_code,
    an_answer_that_is_no_can_be_left_to_the_exit_code_and_an_error_cannot,
    data_are_shown_in_digits_or_as_they_are,
    data_are_set_under_the_token_of_the_caller,
    a_hook_takes_a_lock_as_others_do,
    what_runs_under_a_lock_says_so_when_it_wants_another,
    data_are_set_under_a_lock_taken_for_it,
    more_data_than_travel_with_the_token_are_refused,
    what_happens_is_shown_and_where_to_go_on,
    what_a_client_calls_itself_does_nothing_to_a_terminal,
    programs_get_what_happens_as_it_came,
    a_state_is_waited_for,
}

/// `ringctl` with these arguments.
fn start(fake: &Fake, arguments: &[&str]) -> Running {
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

fn orders_are_asked_for_and_their_answer_is_the_exit_code() {
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
            let fake = Fake::new();
            let mut order = start(&fake, arguments);
            let mut client = fake.client();
            assert_eq!(client.request(), request);
            client.say(&answer);
            let (status, said) = order.end();
            assert_eq!(status.code(), Some(code));
            assert_eq!(said.contains("not owner"), code == 1, "{said}");
        }
    }
}

fn an_answer_that_is_no_can_be_left_to_the_exit_code_and_an_error_cannot() {
    let refused = json!({"refused": {"why": "busy", "text": "somebody works with it"}});
    for (arguments, says) in [
        (&["run", "-n", "true"][..], true),
        (&["run", "-nq", "true"], false),
    ] {
        let fake = Fake::new();
        let mut run = start(&fake, arguments);
        let mut client = fake.client();
        client.request();
        client.say(&refused);
        let (status, said) = run.end();
        assert_eq!(status.code(), Some(1));
        assert_eq!(said.contains("somebody works with it"), says, "{said}");
    }
    let fake = Fake::new();
    let mut run = start(&fake, &["-q", "run", "-n", "true"]);
    let mut client = fake.client();
    client.request();
    client.say(&json!({"error": "the disk is full"}));
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("the disk is full"), "{said}");
}

fn data_are_shown_in_digits_or_as_they_are() {
    for (arguments, shown) in [
        (&["data", "get"][..], "6869\n"),
        (&["data", "get", "--raw"], "hi"),
    ] {
        let fake = Fake::new();
        let mut get = start(&fake, arguments);
        let mut client = fake.client();
        assert_eq!(client.request(), json!({"request": "data_get"}));
        client.say(&json!({"data": {"hex": "6869", "token": token()}}));
        assert_eq!(get.rest(), shown);
        assert_eq!(get.code(), Some(0));
    }
}

fn data_are_set_under_the_token_of_the_caller() {
    let fake = Fake::new();
    let mut command = ringctl(&fake);
    command.env("RINGD_LOCK", "1795-02:00:00:00:00:01-7");
    let mut set = Running::start(command.args(["data", "set", "hi"]));
    let mut client = fake.client();
    assert_eq!(
        client.request(),
        json!({"request": "data_set", "hex": "6869", "token": "1795-02:00:00:00:00:01-7"})
    );
    client.say(&json!({"done": {}}));
    assert_eq!(set.code(), Some(0));
}

/// Hooks have a RINGD_TOKEN, that of whoever owns the ring, and no lock.
fn a_hook_takes_a_lock_as_others_do() {
    for (arguments, label) in [
        (&["run", "true"][..], "true"),
        (&["data", "set", "hi"], "data set"),
    ] {
        let fake = Fake::new();
        let mut command = ringctl(&fake);
        command.env("RINGD_TOKEN", "1795-02:00:00:00:00:01-7");
        command.env("RINGD_EVENT", "state_changed");
        let _asks = Running::start(command.args(arguments));
        let lock = json!({"request": "lock", "label": label});
        assert_eq!(fake.client().request(), lock, "{arguments:?}");
    }
}

fn what_runs_under_a_lock_says_so_when_it_wants_another() {
    let fake = Fake::new();
    let mut command = ringctl(&fake);
    let under = "1795-02:00:00:00:00:01-7";
    let _asks = Running::start(command.env("RINGD_LOCK", under).args(["run", "true"]));
    let lock = json!({"request": "lock", "label": "true", "under": under});
    assert_eq!(fake.client().request(), lock);
}

fn data_are_set_under_a_lock_taken_for_it() {
    let fake = Fake::new();
    let mut set = start(&fake, &["data", "set", "-w", "5", "-"]);
    set.types(&[0, 255]);
    set.close_input();
    let mut client = fake.client();
    assert_eq!(
        client.request(),
        json!({"request": "lock", "label": "data set", "wait_ms": 5000})
    );
    client.grant(LONG);
    client.renew(LONG);
    assert_eq!(
        client.request(),
        json!({"request": "data_set", "hex": "00ff"})
    );
    client.say(&json!({"done": {}}));
    client.unlocked();
    assert_eq!(set.code(), Some(0));
}

fn more_data_than_travel_with_the_token_are_refused() {
    let fake = Fake::new();
    let mut set = start(&fake, &["data", "set", &"x".repeat(1025)]);
    let (status, said) = set.end();
    assert_eq!(status.code(), Some(1));
    assert!(
        said.contains("data too long: 1,025 bytes, at most 1,024"),
        "{said}"
    );
}

fn what_happens_is_shown_and_where_to_go_on() {
    let fake = Fake::new();
    let mut watch = start(&fake, &["watch", "--from", "16"]);
    let mut client = fake.client();
    assert_eq!(
        client.request(),
        json!({"request": "watch", "from": 16, "turns": false})
    );
    client.say(&event(16, "WAITER", "OWNER"));
    assert_eq!(
        watch.line(),
        "16 1970-01-01T00:00:01.000Z state_changed WAITER->OWNER token \
         1795-02:00:00:00:00:01-7 owner 02:00:00:00:00:01 grade alone reason token_taken"
    );
    client.say(&json!({"news": "of a later version"}));
    client.say(&event(17, "OWNER", "WAITER"));
    assert!(watch.line().starts_with("17 "));
    drop(client);
    let (status, said) = watch.end();
    assert_eq!(status.code(), Some(3));
    assert!(said.contains("--from 18"), "{said}");
}

fn what_a_client_calls_itself_does_nothing_to_a_terminal() {
    let fake = Fake::new();
    let mut watch = start(&fake, &["watch"]);
    let mut client = fake.client();
    client.request();
    let mut said = event(1, "WAITER", "OWNER");
    said["event"]["label"] = json!("Bob's \u{1b}[2J\u{202e}x\nnightly report: größer");
    client.say(&said);
    let line = watch.line();
    let label = r"label Bob's \u{1b}[2J\u{202e}x\nnightly report: größer";
    assert!(line.ends_with(label), "{line}");
}

fn programs_get_what_happens_as_it_came() {
    let fake = Fake::new();
    let mut watch = start(&fake, &["watch", "--json", "--turns"]);
    let mut client = fake.client();
    assert_eq!(client.request(), json!({"request": "watch"}));
    let said = event(1, "LOOSER", "GENERATING");
    client.say(&said);
    let shown: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!(shown, said);
}

fn a_state_is_waited_for() {
    let fake = Fake::new();
    let mut wait = start(&fake, &["wait", "owner"]);
    let mut client = fake.client();
    assert_eq!(client.request(), json!({"request": "watch"}));
    client.say(&event(1, "LOOSER", "GENERATING"));
    client.say(&event(2, "GENERATING", "OWNER"));
    assert_eq!(wait.code(), Some(0));

    let mut wait = start(&fake, &["wait", "WAITER", "-w", "0.1"]);
    let mut client = fake.client();
    client.request();
    assert_eq!(wait.code(), Some(1));

    let mut wait = start(&fake, &["wait", "WAITER"]);
    drop(fake.client());
    assert_eq!(wait.code(), Some(3));
}
