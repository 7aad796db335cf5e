//! Signals to `ringctl run`, while it waits and while its command runs.

use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fake::{Fake, LONG};
use crate::program::{Running, SLEEP, ringctl};

tests! {
    signals_are_passed_on_to_the_command,
    a_command_that_a_signal_ended_has_the_exit_code_of_that,
    while_it_waits_a_signal_ends_ringctl_which_gives_up_its_place,
    signals_that_only_a_command_understands_do_not_end_the_wait_for_it,
    a_signal_right_after_the_grant_ends_it_all,
    a_closed_pipe_ends_the_command_if_it_would_without_ringctl,
    what_was_ignored_before_stays_ignored,
}

/// Says which signals it gets, by number, until it gets SIGQUIT.
fn listener() -> String {
    format!(
        "for n in 1 2 10 12 15 28; do trap \"echo $n\" $n; done; \
         trap 'echo quit; exit 7' 3; {SLEEP}; echo ready; while :; do wait $!; done"
    )
}

const FATAL: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

fn signals_are_passed_on_to_the_command() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, &listener());
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    for signal in [
        Signal::SIGUSR1,
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGUSR2,
        Signal::SIGWINCH,
    ] {
        run.signal(signal);
        assert_eq!(run.line(), (signal as i32).to_string());
    }
    run.signal(Signal::SIGQUIT);
    assert_eq!(run.line(), "quit");
    client.unlocked();
    assert_eq!(run.code(), Some(7), "the command has caught it");
}

fn a_command_that_a_signal_ended_has_the_exit_code_of_that() {
    for signal in FATAL {
        let fake = Fake::new();
        let mut run = Running::shell(&fake, "echo ready; exec sleep 1000");
        let mut client = fake.grant(LONG);
        assert_eq!(run.line(), "ready");
        run.signal(signal);
        client.unlocked();
        assert_eq!(run.code(), Some(128 + signal as i32));
    }
}

fn while_it_waits_a_signal_ends_ringctl_which_gives_up_its_place() {
    for signal in FATAL {
        let fake = Fake::new();
        let mut run = Running::shell(&fake, "echo runs");
        let mut client = fake.client();
        client.request();
        run.signal(signal);
        assert_eq!(run.killed_by(), Some(signal));
        assert_eq!(client.request(), Value::Null, "it hangs up");
        assert_eq!(run.rest(), "");
    }
}

fn signals_that_only_a_command_understands_do_not_end_the_wait_for_it() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "echo runs");
    let mut client = fake.client();
    client.request();
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH] {
        run.signal(signal);
    }
    client.grant(LONG);
    assert_eq!(run.line(), "runs");
    client.unlocked();
    assert_eq!(run.code(), Some(0));
}

fn a_signal_right_after_the_grant_ends_it_all() {
    // Whatever the moment that it hits, the command does not outlive it.
    for _ in 0..20 {
        let fake = Fake::new();
        let mut run = Running::shell(&fake, "sleep 1000");
        let mut client = fake.grant(LONG);
        run.signal(Signal::SIGTERM);
        client.unlocked();
        run.rest();
        let (status, _) = run.end();
        assert!(!status.success());
    }
}

fn a_closed_pipe_ends_the_command_if_it_would_without_ringctl() {
    for (trap, ends) in [("trap '' PIPE", "1"), ("trap - PIPE", "0")] {
        for guarded in [false, true] {
            let fake = Fake::new();
            let ringctl = ringctl(&fake);
            let mut command = std::process::Command::new("sh");
            command
                .args(["-c", &format!("{trap}; exec \"$@\""), "sh"])
                .arg(ringctl.get_program())
                .args(ringctl.get_args())
                .stdin(Stdio::null());
            if guarded {
                let record = fake.file("record");
                command.args(["guard", "--token", "1795-02:00:00:00:00:01-7"]);
                command.arg(record).arg("--");
            } else {
                command.args(["run", "--"]);
            }
            let mut run = Running::start(command.args(["grep", "SigIgn", "/proc/self/status"]));
            if !guarded {
                fake.grant(LONG).unlocked();
            }
            let ignored = run.line();
            let digits = ignored.trim_start_matches("SigIgn:").trim();
            let bits = u64::from_str_radix(digits, 16).expect("digits");
            let pipe = bits >> (Signal::SIGPIPE as i32 - 1) & 1;
            assert_eq!(pipe.to_string(), ends, "after {trap}");
        }
    }
}

fn what_was_ignored_before_stays_ignored() {
    let fake = Fake::new();
    let mut command = std::process::Command::new("sh");
    let ringctl = ringctl(&fake);
    command
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(ringctl.get_program())
        .args(ringctl.get_args())
        .args(["run", "-c", "kill -HUP $$; echo ready; cat"])
        .stdin(Stdio::piped());
    let mut run = Running::start(&mut command);
    let mut client = fake.client();
    client.request();
    run.signal(Signal::SIGHUP);
    client.grant(LONG);
    assert_eq!(run.line(), "ready");
    run.signal(Signal::SIGHUP);
    run.close_input();
    client.unlocked();
    assert_eq!(run.code(), Some(0));
}
