//! Signals to `ringctl run` during its wait and while its command runs.

use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{Running, SLEEP, ringctl};

tests! {
    signals_are_forwarded_to_the_command,
    a_signal_that_ends_the_command_gives_the_exit_code,
    a_fatal_signal_ends_the_wait,
    signals_that_only_a_command_can_use_do_not_end_the_wait,
    a_signal_right_after_the_grant_ends_the_command,
    the_effect_of_sigpipe_is_passed_to_the_command,
    an_ignored_signal_stays_ignored,
}

/// Returns a shell line. The shell prints the number of each signal that it gets, until SIGQUIT arrives.
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

fn signals_are_forwarded_to_the_command() {
    let (_fake, mut run, mut client) = Running::ready(&listener());
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
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(7), "the command has caught it");
}

fn a_signal_that_ends_the_command_gives_the_exit_code() {
    for signal in FATAL {
        let (_fake, mut run, mut client) = Running::ready("echo ready; exec sleep 1000");
        run.signal(signal);
        client.wait_for_unlock();
        assert_eq!(run.code(), Some(128 + signal as i32));
    }
}

fn a_fatal_signal_ends_the_wait() {
    for signal in FATAL {
        let fake = FakeDaemon::new();
        let mut run = Running::shell(&fake, "echo runs");
        let mut client = fake.next_client();
        client.request();
        run.signal(signal);
        assert_eq!(run.killed_by(), Some(signal));
        assert_eq!(client.request(), Value::Null, "it closes the connection");
        assert_eq!(run.rest(), "");
    }
}

fn signals_that_only_a_command_can_use_do_not_end_the_wait() {
    let fake = FakeDaemon::new();
    let mut run = Running::shell(&fake, "echo runs");
    let mut client = fake.next_client();
    client.request();
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH] {
        run.signal(signal);
    }
    client.grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "runs");
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(0));
}

fn a_signal_right_after_the_grant_ends_the_command() {
    // The command must end, no matter at which moment the signal comes.
    for _ in 0..20 {
        let (_fake, mut run, mut client) = Running::spawn_granted("sleep 1000");
        run.signal(Signal::SIGTERM);
        client.wait_for_unlock();
        run.rest();
        let (status, _) = run.end();
        assert!(!status.success());
    }
}

fn the_effect_of_sigpipe_is_passed_to_the_command() {
    for (trap, ends) in [("trap '' PIPE", "1"), ("trap - PIPE", "0")] {
        for guarded in [false, true] {
            let fake = FakeDaemon::new();
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
                fake.accept_and_grant(ENDLESS_LEASE).wait_for_unlock();
            }
            let ignored = run.line();
            let digits = ignored.trim_start_matches("SigIgn:").trim();
            let bits = u64::from_str_radix(digits, 16).expect("digits");
            let pipe = bits >> (Signal::SIGPIPE as i32 - 1) & 1;
            assert_eq!(pipe.to_string(), ends, "after {trap}");
        }
    }
}

fn an_ignored_signal_stays_ignored() {
    let fake = FakeDaemon::new();
    let mut command = std::process::Command::new("sh");
    let ringctl = ringctl(&fake);
    command
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(ringctl.get_program())
        .args(ringctl.get_args())
        .args(["run", "-c", "kill -HUP $$; echo ready; cat"])
        .stdin(Stdio::piped());
    let mut run = Running::start(&mut command);
    let mut client = fake.next_client();
    client.request();
    run.signal(Signal::SIGHUP);
    client.grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    run.signal(Signal::SIGHUP);
    run.close_input();
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(0));
}
