//! The loss of the lock ends the command, whatever becomes of `ringctl`.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use ring_segment::limit::PATIENCE;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};

use crate::fake::{Client, Fake, LONG, boot_time};
use crate::leaving::need_groups;
use crate::program::{Running, SLEEP, Witness, ringctl};

tests! {
    exclusive a_lost_lock_ends_the_command_in_time_and_is_told_by_the_exit_code,
    a_job_that_ends_by_itself_is_told_of,
    nothing_is_told_of_a_job_that_the_loss_of_its_lock_has_ended,
    a_job_whose_lock_is_lost_before_it_begins_has_not_run,
    grace_is_less_than_the_lease_if_it_is_said_to_be,
    no_time_is_left_when_the_lease_is_past,
    the_end_of_the_daemon_ends_the_command,
    a_command_that_is_stopped_is_ended_too,
    the_death_of_ringctl_ends_the_command_and_gives_the_lock_back,
    the_death_of_the_keeper_ends_the_command,
    what_a_command_has_left_does_not_outlive_a_keeper_that_was_ending_it,
    a_lock_that_is_lost_at_once_starts_no_command,
    a_grant_that_is_past_starts_no_command,
    the_death_of_the_keeper_is_a_loss_though_its_command_is_seen_to_die_first,
    a_command_does_not_outlive_both_its_keeper_and_ringctl,
    a_command_that_has_closed_what_it_inherited_does_not_outlive_both,
    a_loss_that_is_told_after_the_end_takes_nothing_back,
    what_the_daemon_will_not_end_is_said_before_the_command_runs,
    a_command_runs_only_once_the_daemon_has_what_ends_it,
}

/// Time enough for SIGTERM to be heard by who runs alone.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Its end is heard of: it says that it was told to end, and does.
pub(crate) fn polite() -> String {
    format!("trap 'echo told; exit 0' TERM; {SLEEP}; echo ready; wait")
}

/// Neither it nor its child end when they are told to.
pub(crate) fn stubborn() -> String {
    format!("trap '' TERM; {SLEEP}; echo ready; wait; sleep 1000")
}

fn a_lost_lock_ends_the_command_in_time_and_is_told_by_the_exit_code() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, &polite());
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    let until = client.lose(LEASE);
    assert_eq!(run.line(), "told");
    client.unlocked();
    assert!(boot_time() < until, "the lock is given back early");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("another node has a stronger token"), "{said}");
}

/// `ringctl once` with a line for the shell, and the client that asks for its lock.
fn job(fake: &Fake, line: &str) -> (Running, Client) {
    let once = ["once", "nightly", "--every", "20h", "-c", line];
    let run = Running::start(ringctl(fake).args(once).stdin(Stdio::null()));
    let mut client = fake.client();
    assert_eq!(client.request()["request"], "once");
    (run, client)
}

fn a_job_that_ends_by_itself_is_told_of() {
    for (line, done, code) in [("true", true, 0), ("exit 7", false, 7)] {
        let fake = Fake::new();
        let (mut run, mut client) = job(&fake, line);
        client.grant(LONG);
        assert_eq!(client.request(), json!({"request": "ran", "done": done}));
        client.unlocked();
        assert_eq!(run.code(), Some(code));
    }
}

/// It ends well when it is told to: that is not what it was for.
fn nothing_is_told_of_a_job_that_the_loss_of_its_lock_has_ended() {
    let fake = Fake::new();
    let (mut run, mut client) = job(&fake, &polite());
    client.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LONG);
    assert_eq!(run.line(), "told");
    client.unlocked();
    assert_eq!(run.code(), Some(75));
}

fn a_job_whose_lock_is_lost_before_it_begins_has_not_run() {
    let fake = Fake::new();
    let (mut run, mut client) = job(&fake, "echo runs");
    client.grant_and_lose(LONG, LONG);
    assert_eq!(client.request(), json!({"request": "not_run"}));
    client.unlocked();
    assert_eq!(run.rest(), "");
    assert_eq!(run.code(), Some(75));
}

fn grace_is_less_than_the_lease_if_it_is_said_to_be() {
    let fake = Fake::new();
    let mut run = Running::run(&fake, &["--grace", "10ms", "-c", &stubborn()]);
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LONG);
    client.unlocked();
    assert_eq!(run.code(), Some(75));
}

fn no_time_is_left_when_the_lease_is_past() {
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let mut run = Running::shell(&fake, &witness.seeing(&stubborn()));
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(Duration::ZERO);
    witness.wait_for_end();
    client.unlocked();
    assert_eq!(run.code(), Some(75));
}

fn the_end_of_the_daemon_ends_the_command() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, &polite());
    let client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    drop(client);
    assert_eq!(run.rest(), "told\n");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("ringd has ended"), "{said}");
}

fn a_command_that_is_stopped_is_ended_too() {
    let fake = Fake::new();
    let mut run = Running::shell(
        &fake,
        "trap 'echo told; exit 0' TERM; echo $$; kill -STOP $$",
    );
    let mut client = fake.grant(LONG);
    run.line();
    client.lose(LONG);
    client.unlocked();
    assert_eq!(run.line(), "told");
    assert_eq!(run.code(), Some(75));
}

fn the_death_of_ringctl_ends_the_command_and_gives_the_lock_back() {
    for line in [polite(), stubborn()] {
        let fake = Fake::new();
        let mut run = Running::run(&fake, &["--grace", "1s", "-c", &line]);
        let mut client = fake.grant(LONG);
        assert_eq!(run.line(), "ready");
        run.signal(Signal::SIGKILL);
        let rest = run.rest();
        assert_eq!(rest == "told\n", line == polite(), "it is told first");
        client.unlocked();
        assert_eq!(client.request(), Value::Null, "the keeper ends");
    }
}

fn the_death_of_the_keeper_ends_the_command() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, &stubborn());
    let client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    kill(client.pid(), Signal::SIGKILL).unwrap();
    run.rest();
    assert_eq!(run.code(), Some(75));
}

fn what_a_command_has_left_does_not_outlive_a_keeper_that_was_ending_it() {
    need_groups();
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let ready = ready.display();
    let line = format!(
        "setsid sh -c 'trap \"echo told\" TERM; : > {ready}; while :; do sleep 0.1; done' & \
         until [ -e {ready} ]; do sleep 0.01; done; exit 5"
    );
    let mut run = Running::shell(&fake, &witness.seeing(&line));
    let client = fake.grant(LONG);
    assert_eq!(run.line(), "told");
    kill(client.pid(), Signal::SIGKILL).unwrap();
    witness.wait_for_end();
    assert_eq!(run.code(), Some(5));
}

fn a_lock_that_is_lost_at_once_starts_no_command() {
    for lease in [Duration::ZERO, LONG] {
        let fake = Fake::new();
        let mut run = Running::shell(&fake, "echo runs; sleep 1000");
        let mut client = fake.client();
        client.request();
        client.grant_and_lose(lease, Duration::ZERO);
        client.unlocked();
        assert_eq!(run.code(), Some(75));
    }
}

fn a_grant_that_is_past_starts_no_command() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "echo runs; sleep 1000");
    let mut client = fake.grant(Duration::ZERO);
    client.unlocked();
    assert_eq!(run.rest(), "");
    assert_eq!(run.code(), Some(75));
}

/// The kernel closes the first of the keeper's descriptors, the end of their conversation, last.
fn the_death_of_the_keeper_is_a_loss_though_its_command_is_seen_to_die_first() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, &stubborn());
    let client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    let keeper = rustix::process::Pid::from_raw(client.pid().as_raw()).unwrap();
    let keeper = pidfd_open(keeper, PidfdFlags::empty()).unwrap();
    let conversation = pidfd_getfd(keeper, 0, PidfdGetfdFlags::empty()).unwrap();
    let mut conversation = UnixStream::from(conversation);
    conversation.set_read_timeout(Some(PATIENCE)).unwrap();
    kill(client.pid(), Signal::SIGKILL).unwrap();
    let told = conversation.read(&mut [0; 64]).unwrap();
    assert_ne!(told, 0, "that the command has ended");
    drop(conversation);
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(said.contains("token is lost"), "{said}");
}

fn nothing_outlives_both(line: &str) {
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let mut run = Running::shell(&fake, &witness.seeing(line));
    let client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    kill(client.pid(), Signal::SIGSTOP).unwrap();
    run.signal(Signal::SIGKILL);
    kill(client.pid(), Signal::SIGKILL).unwrap();
    witness.wait_for_end();
    assert_eq!(run.killed_by(), Some(Signal::SIGKILL));
}

fn a_command_does_not_outlive_both_its_keeper_and_ringctl() {
    nothing_outlives_both(&stubborn());
}

/// A daemon does. Here nobody but the keeper has the ends of its life line.
fn a_command_that_has_closed_what_it_inherited_does_not_outlive_both() {
    let line = "exec python3 -c 'import os, time
os.closerange(3, 8)
os.closerange(9, 1000)
print(\"ready\", flush=True)
time.sleep(1000)'";
    nothing_outlives_both(line);
}

fn a_loss_that_is_told_after_the_end_takes_nothing_back() {
    let fake = Fake::new();
    let mut run = Running::shell(&fake, "echo ready");
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    assert_eq!(client.request()["request"], "unlock");
    client.lose(Duration::ZERO);
    client.say(&json!({"unlocked": {}}));
    assert_eq!(run.code(), Some(0));
}

const REFUSAL: &str = "ringd sees no control groups (version 2)";

fn what_the_daemon_will_not_end_is_said_before_the_command_runs() {
    let fake = Fake::answering_bind(Some(json!({"error": REFUSAL})));
    let mut run = Running::shell(&fake, "echo runs; read end");
    let mut client = fake.grant(LONG);
    run.complains(&format!(
        "what has left the command's process group or closed its descriptors is not ended: {REFUSAL}\n"
    ));
    assert_eq!(run.line(), "runs");
    client.unlocked();
    assert_eq!(run.code(), Some(1));

    let mut again = Running::shell(&fake, "echo runs");
    let mut client = fake.grant(LONG);
    client.unlocked();
    let (status, said) = again.end();
    assert_eq!(
        (status.code(), &*said),
        (Some(0), ""),
        "it was told since the start"
    );

    let fake = Fake::answering_bind(Some(json!({"error": REFUSAL})));
    let mut lock = Running::start(
        ringctl(&fake)
            .args(["lock", "--kill", "--pid", &std::process::id().to_string()])
            .stdin(Stdio::null()),
    );
    let mut client = fake.grant(LONG);
    lock.complains(&format!("the process is not sent SIGTERM: {REFUSAL}\n"));
    assert_eq!(lock.code(), Some(0));
    let mut unlock = Running::start(
        ringctl(&fake)
            .args(["unlock", "--pid", &std::process::id().to_string()])
            .stdin(Stdio::null()),
    );
    client.unlocked();
    assert_eq!(unlock.code(), Some(0));
}

/// A daemon that is stopped by then has not taken it; the lease is over some time.
fn a_command_runs_only_once_the_daemon_has_what_ends_it() {
    let fake = Fake::answering_bind(None);
    let mut run = Running::shell(&fake, "echo runs");
    let mut client = fake.grant(LEASE / 2);
    client.unlocked();
    assert_eq!(run.rest(), "");
    assert_eq!(run.code(), Some(75));
}
