//! The loss of a lock ends the command, even if `ringctl` or its keeper is stopped or killed.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use ring_segment::limit::WAIT_LIMIT;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};

use crate::fake::{Client, ENDLESS_LEASE, FakeDaemon, boot_time};
use crate::leaving::need_groups;
use crate::program::{Running, SLEEP, Witness, ringctl};

tests! {
    exclusive a_lost_lock_ends_the_command_in_time_with_code_75,
    the_outcome_of_a_job_is_reported,
    no_outcome_is_reported_of_a_job_that_the_loss_has_ended,
    a_job_whose_lock_is_lost_before_its_start_has_not_run,
    a_short_grace_time_ends_before_the_lease,
    after_the_lease_a_command_is_killed_at_once,
    the_end_of_the_daemon_ends_the_command,
    a_command_that_is_stopped_is_ended_too,
    the_death_of_ringctl_ends_the_command_and_releases_the_lock,
    the_death_of_the_keeper_ends_the_command,
    left_processes_do_not_outlive_a_keeper_that_was_ending_them,
    a_lock_that_is_lost_at_once_starts_no_command,
    a_grant_with_a_past_lease_starts_no_command,
    the_death_of_the_keeper_is_a_loss_even_if_the_command_dies_first,
    a_command_does_not_outlive_both_its_keeper_and_ringctl,
    a_command_that_has_closed_its_descriptors_does_not_outlive_both,
    a_loss_after_the_end_of_the_command_changes_nothing,
    a_missing_backstop_is_reported_before_the_command_runs,
    a_command_runs_only_after_the_daemon_has_confirmed_the_backstop,
}

/// A lease in which a command has time to end after SIGTERM on an idle machine.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Returns a shell line. When SIGTERM arrives, the shell prints `told` and ends.
pub(crate) fn polite() -> String {
    format!("trap 'echo told; exit 0' TERM; {SLEEP}; echo ready; wait")
}

/// Returns a shell line. The shell and its child ignore SIGTERM.
pub(crate) fn stubborn() -> String {
    format!("trap '' TERM; {SLEEP}; echo ready; wait; sleep 1000")
}

fn a_lost_lock_ends_the_command_in_time_with_code_75() {
    let (_fake, mut run, mut client) = Running::ready(&polite());
    let until = client.lose(LEASE);
    assert_eq!(run.line(), "told");
    client.wait_for_unlock();
    assert!(
        boot_time() < until,
        "the lock is released before the end of the lease"
    );
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(
        stderr.contains("another node has a stronger token"),
        "{stderr}"
    );
}

/// Starts `ringctl once` with a shell line, and accepts its keeper.
fn job(fake: &FakeDaemon, line: &str) -> (Running, Client) {
    let once = ["once", "nightly", "--every", "20h", "-c", line];
    let run = Running::start(ringctl(fake).args(once).stdin(Stdio::null()));
    let mut client = fake.next_client();
    assert_eq!(client.request()["request"], "once");
    (run, client)
}

fn the_outcome_of_a_job_is_reported() {
    for (line, done, code) in [("true", true, 0), ("exit 7", false, 7)] {
        let fake = FakeDaemon::new();
        let (mut run, mut client) = job(&fake, line);
        client.grant(ENDLESS_LEASE);
        assert_eq!(client.request(), json!({"request": "ran", "done": done}));
        client.wait_for_unlock();
        assert_eq!(run.code(), Some(code));
    }
}

/// After SIGTERM, the job ends with code 0 although its work is incomplete.
fn no_outcome_is_reported_of_a_job_that_the_loss_has_ended() {
    let fake = FakeDaemon::new();
    let (mut run, mut client) = job(&fake, &polite());
    client.grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(ENDLESS_LEASE);
    assert_eq!(run.line(), "told");
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(75));
}

fn a_job_whose_lock_is_lost_before_its_start_has_not_run() {
    let fake = FakeDaemon::new();
    let (mut run, mut client) = job(&fake, "echo runs");
    client.grant_and_lose(ENDLESS_LEASE, ENDLESS_LEASE);
    assert_eq!(client.request(), json!({"request": "not_run"}));
    client.wait_for_unlock();
    assert_eq!(run.rest(), "");
    assert_eq!(run.code(), Some(75));
}

fn a_short_grace_time_ends_before_the_lease() {
    let fake = FakeDaemon::new();
    let mut run = Running::run(&fake, &["--grace", "10ms", "-c", &stubborn()]);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(75));
}

fn after_the_lease_a_command_is_killed_at_once() {
    let (_fake, mut witness, mut run, mut client) = Witness::of_ready(&stubborn());
    client.lose(Duration::ZERO);
    witness.wait_for_end();
    // On a busy machine, the kernel's timer may end the keeper before the keeper releases the lock.
    client.confirm_unlock_or_end();
    assert_eq!(run.code(), Some(75));
}

fn the_end_of_the_daemon_ends_the_command() {
    let (_fake, mut run, client) = Running::ready(&polite());
    drop(client);
    assert_eq!(run.rest(), "told\n");
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(stderr.contains("ringd has ended"), "{stderr}");
}

fn a_command_that_is_stopped_is_ended_too() {
    let fake = FakeDaemon::new();
    let mut run = Running::shell(
        &fake,
        "trap 'echo told; exit 0' TERM; echo $$; kill -STOP $$",
    );
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    run.line();
    client.lose(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.line(), "told");
    assert_eq!(run.code(), Some(75));
}

fn the_death_of_ringctl_ends_the_command_and_releases_the_lock() {
    for line in [polite(), stubborn()] {
        let fake = FakeDaemon::new();
        let mut run = Running::run(&fake, &["--grace", "1s", "-c", &line]);
        let mut client = fake.accept_and_grant(ENDLESS_LEASE);
        assert_eq!(run.line(), "ready");
        run.signal(Signal::SIGKILL);
        let rest = run.rest();
        assert_eq!(rest == "told\n", line == polite(), "it gets SIGTERM first");
        client.wait_for_unlock();
        assert_eq!(client.request(), Value::Null, "the keeper ends");
    }
}

fn the_death_of_the_keeper_ends_the_command() {
    let (_fake, mut run, client) = Running::ready(&stubborn());
    kill(client.pid(), Signal::SIGKILL).unwrap();
    run.rest();
    assert_eq!(run.code(), Some(75));
}

fn left_processes_do_not_outlive_a_keeper_that_was_ending_them() {
    need_groups();
    let fake = FakeDaemon::new();
    let mut witness = Witness::new(&fake);
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let ready = ready.display();
    let line = format!(
        "setsid sh -c 'trap \"echo told\" TERM; : > {ready}; while :; do sleep 0.1; done' & \
         until [ -e {ready} ]; do sleep 0.01; done; exit 5"
    );
    let mut run = Running::shell(&fake, &witness.open_in(&line));
    let client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "told");
    kill(client.pid(), Signal::SIGKILL).unwrap();
    witness.wait_for_end();
    assert_eq!(run.code(), Some(5));
}

fn a_lock_that_is_lost_at_once_starts_no_command() {
    for lease in [Duration::ZERO, ENDLESS_LEASE] {
        let fake = FakeDaemon::new();
        let mut run = Running::shell(&fake, "echo runs; sleep 1000");
        let mut client = fake.next_client();
        client.request();
        client.grant_and_lose(lease, Duration::ZERO);
        client.wait_for_unlock();
        assert_eq!(run.code(), Some(75));
    }
}

fn a_grant_with_a_past_lease_starts_no_command() {
    let fake = FakeDaemon::new();
    let mut run = Running::shell(&fake, "echo runs; sleep 1000");
    let mut client = fake.accept_and_grant(Duration::ZERO);
    client.wait_for_unlock();
    assert_eq!(run.rest(), "");
    assert_eq!(run.code(), Some(75));
}

/// The kernel closes the keeper's connection with `ringctl` last, because this connection is the keeper's first
/// descriptor.
fn the_death_of_the_keeper_is_a_loss_even_if_the_command_dies_first() {
    let (_fake, mut run, client) = Running::ready(&stubborn());
    let keeper = rustix::process::Pid::from_raw(client.pid().as_raw()).unwrap();
    let keeper = pidfd_open(keeper, PidfdFlags::empty()).unwrap();
    let conversation = pidfd_getfd(keeper, 0, PidfdGetfdFlags::empty()).unwrap();
    let mut conversation = UnixStream::from(conversation);
    conversation.set_read_timeout(Some(WAIT_LIMIT)).unwrap();
    kill(client.pid(), Signal::SIGKILL).unwrap();
    let told = conversation.read(&mut [0; 64]).unwrap();
    assert_ne!(told, 0, "ringctl reports the end of the command");
    drop(conversation);
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    assert!(stderr.contains("token is lost"), "{stderr}");
}

fn nothing_outlives_both(line: &str) {
    let (_fake, mut witness, mut run, client) = Witness::of_ready(line);
    kill(client.pid(), Signal::SIGSTOP).unwrap();
    run.signal(Signal::SIGKILL);
    kill(client.pid(), Signal::SIGKILL).unwrap();
    witness.wait_for_end();
    assert_eq!(run.killed_by(), Some(Signal::SIGKILL));
}

fn a_command_does_not_outlive_both_its_keeper_and_ringctl() {
    nothing_outlives_both(&stubborn());
}

/// A real daemon keeps the life line open. The fake daemon closes it, so only the keeper has its ends.
fn a_command_that_has_closed_its_descriptors_does_not_outlive_both() {
    let line = "exec python3 -c 'import os, time
os.closerange(3, 8)
os.closerange(9, 1000)
print(\"ready\", flush=True)
time.sleep(1000)'";
    nothing_outlives_both(line);
}

fn a_loss_after_the_end_of_the_command_changes_nothing() {
    let (_fake, mut run, mut client) = Running::ready("echo ready");
    assert_eq!(client.request()["request"], "unlock");
    client.lose(Duration::ZERO);
    client.send(&json!({"unlocked": {}}));
    assert_eq!(run.code(), Some(0));
}

const REFUSAL: &str = "ringd sees no control groups (version 2)";

fn a_missing_backstop_is_reported_before_the_command_runs() {
    let fake = FakeDaemon::with_bind_answer(Some(json!({"error": REFUSAL})));
    let mut run = Running::shell(&fake, "echo runs; read end");
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    run.wait_for_error(&format!(
        "processes that have left the command's process group or closed its descriptors continue: {REFUSAL}\n"
    ));
    assert_eq!(run.line(), "runs");
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(1));

    let mut again = Running::shell(&fake, "echo runs");
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    client.wait_for_unlock();
    let (status, stderr) = again.end();
    assert_eq!(
        (status.code(), &*stderr),
        (Some(0), ""),
        "it was printed since the boot"
    );

    let fake = FakeDaemon::with_bind_answer(Some(json!({"error": REFUSAL})));
    let mut lock = Running::start(
        ringctl(&fake)
            .args(["lock", "--kill", "--pid", &std::process::id().to_string()])
            .stdin(Stdio::null()),
    );
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    lock.wait_for_error(&format!("the process is not sent SIGTERM: {REFUSAL}\n"));
    assert_eq!(lock.code(), Some(0));
    let mut unlock = Running::start(
        ringctl(&fake)
            .args(["unlock", "--pid", &std::process::id().to_string()])
            .stdin(Stdio::null()),
    );
    client.wait_for_unlock();
    assert_eq!(unlock.code(), Some(0));
}

/// A stopped daemon does not confirm the backstop, and the lease ends.
fn a_command_runs_only_after_the_daemon_has_confirmed_the_backstop() {
    let fake = FakeDaemon::with_bind_answer(None);
    let mut run = Running::shell(&fake, "echo runs");
    let mut client = fake.accept_and_grant(LEASE / 2);
    client.wait_for_unlock();
    assert_eq!(run.rest(), "");
    assert_eq!(run.code(), Some(75));
}
