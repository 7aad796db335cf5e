//! A holder ends before its lease ends, even if `ringctl` is stopped or killed. The cases run in parallel, because each
//! case mostly waits for the end of its lease.

use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use ring_segment::{Case, side_by_side};
use serde_json::Value;

use crate::fake::{Client, ENDLESS_LEASE, FakeDaemon, boot_time};
use crate::leaving::{moving, need_groups};
use crate::locking::{TOKEN, start};
use crate::loss::{LEASE, polite, stubborn};
use crate::namespaces::spawn_unshared;
use crate::program::{Running, SLEEP, Witness};

tests! {
    exclusive every_command_ends_before_its_lease,
    exclusive the_kernel_ends_a_command_whose_keeper_is_stopped,
}

fn run_in_parallel(cases: &[Case<fn()>]) {
    let case = |&(name, run): &Case<fn()>| {
        let run = move || {
            run();
            Ok(())
        };
        (name, run)
    };
    let cases: Vec<_> = cases.iter().map(case).collect();
    side_by_side(&cases).unwrap();
}

fn every_command_ends_before_its_lease() {
    run_in_parallel(&[
        ("lost: it ignores SIGTERM", a_stubborn_command),
        ("lost: a grandchild has left its group", a_grandchild),
        ("lost: it has left its control group", a_moving_command),
        ("not renewed: it ends at SIGTERM", || not_renewed(true)),
        ("not renewed: it ignores SIGTERM", || not_renewed(false)),
        ("not renewed: another time namespace", another_time),
        ("not renewed: ringctl is stopped", a_stopped_ringctl),
        ("not renewed: a pipe", a_pipe),
        ("not renewed: a pipe, stopped", a_stopped_pipe),
    ]);
}

/// Runs a shell that prints `ready` and ignores SIGTERM. Checks that all processes of the shell end in time after the
/// loss.
fn ends_in_time(line: &str) {
    let (_fake, mut witness, mut run, mut client) = Witness::of_ready(line);
    let until = client.lose(LEASE);
    witness.wait_for_end();
    assert!(boot_time() < until, "its last process ended too late");
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(75));
}

fn a_stubborn_command() {
    ends_in_time(&stubborn());
}

fn a_grandchild() {
    need_groups();
    ends_in_time("setsid sh -c 'trap \"\" TERM; echo ready; exec sleep 1000' & wait");
}

/// The lock is released when the keeper knows that all processes of the command have ended.
fn a_moving_command() {
    let fake = FakeDaemon::new();
    let mut witness = Witness::new(&fake);
    let line = format!("trap '' TERM; {SLEEP}; echo ready; wait");
    let mut run = Running::shell(&fake, &witness.open_in(&moving(&line)));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    let until = client.lose(LEASE);
    client.wait_for_unlock();
    witness.assert_ended();
    assert!(boot_time() < until, "its last process ended too late");
    assert_eq!(run.code(), Some(75));
}

/// Runs a command whose lease is not renewed. Calls `then` when the command runs. Checks that the command ends before
/// the lease.
fn runs_until_lease_ends(
    line: &str,
    then: impl FnOnce(&Running),
) -> (Running, (Client, FakeDaemon)) {
    runs_until_lease_ends_with(Running::shell, line, then)
}

/// Like `runs_until_lease_ends`, but `start` starts the command.
fn runs_until_lease_ends_with(
    start: impl FnOnce(&FakeDaemon, &str) -> Running,
    line: &str,
    then: impl FnOnce(&Running),
) -> (Running, (Client, FakeDaemon)) {
    let fake = FakeDaemon::new();
    let mut witness = Witness::new(&fake);
    let mut run = start(&fake, &witness.open_in(line));
    let mut client = fake.next_client();
    client.request();
    let until = client.grant(LEASE);
    assert_eq!(run.line(), "ready");
    then(&run);
    witness.wait_for_end();
    assert!(boot_time() < until, "its last process ended too late");
    client.wait_for_unlock();
    (run, (client, fake))
}

fn not_renewed(is_polite: bool) {
    let line = if is_polite { polite() } else { stubborn() };
    let (mut run, _daemon) = runs_until_lease_ends(&line, |_| ());
    assert_eq!(run.line() == "told", is_polite, "it gets SIGTERM first");
    assert_eq!(run.code(), Some(75));
}

/// In the time namespace of the command, the clock is behind. By this clock, the lease would last longer than the test.
fn another_time() {
    let late = ["--time", "--boottime", "-4"];
    let start = |fake: &FakeDaemon, line: &str| spawn_unshared(&late, fake, line);
    let (mut run, _daemon) = runs_until_lease_ends_with(start, &stubborn(), |_| ());
    assert_eq!(run.code(), Some(75));
}

fn a_stopped_ringctl() {
    let stop = |run: &Running| run.signal(Signal::SIGSTOP);
    let (mut run, _daemon) = runs_until_lease_ends(&stubborn(), stop);
    run.signal(Signal::SIGCONT);
    assert_eq!(run.code(), Some(75));
}

/// Starts `ringctl lock --pipe` with a lease that is not renewed. Returns the process, its daemon and the end of the
/// lease.
fn pipe() -> (Running, (Client, FakeDaemon), Duration) {
    let fake = FakeDaemon::new();
    let mut lock = start(&fake, &["lock", "--pipe"]);
    let mut client = fake.next_client();
    client.request();
    let until = client.grant(LEASE);
    assert_eq!(lock.line(), TOKEN);
    (lock, (client, fake), until)
}

fn a_pipe() {
    let (mut lock, _daemon, until) = pipe();
    assert_eq!(lock.rest(), "");
    assert!(boot_time() < until, "it ended too late");
    assert_eq!(lock.code(), Some(75));
}

fn a_stopped_pipe() {
    let (mut lock, _daemon, _) = pipe();
    lock.signal(Signal::SIGSTOP);
    assert_eq!(lock.rest(), "");
    assert_eq!(lock.killed_by(), Some(Signal::SIGKILL));
}

/// The test runs separately, because its commands use all processors.
fn the_kernel_ends_a_command_whose_keeper_is_stopped() {
    run_in_parallel(&[
        ("the keeper is stopped", || the_kernel_ends(false)),
        ("so are ringctl and the command", || the_kernel_ends(true)),
    ]);
}

/// Runs a shell that loops. Checks that the shell does not run after the end of its lease, although its keeper is
/// stopped. With `all`, `ringctl` and the shell are stopped too.
fn the_kernel_ends(all: bool) {
    let fake = FakeDaemon::new();
    let mut witness = Witness::new(&fake);
    let line = "echo $$; trap '' TERM; while :; do :; done";
    let mut run = Running::shell(&fake, &witness.open_in(line));
    let mut client = fake.next_client();
    client.request();
    let until = client.grant(LEASE);
    let command = run.line().parse().expect("a process");
    kill(client.pid(), Signal::SIGSTOP).unwrap();
    if all {
        run.signal(Signal::SIGSTOP);
        killpg(Pid::from_raw(command), Signal::SIGSTOP).unwrap();
    }
    witness.wait_for_end();
    let late = boot_time().saturating_sub(until);
    assert!(
        late < LEASE,
        "the kernel ended it only {late:?} after its lease"
    );
    assert_eq!(client.request(), Value::Null, "the lock is free");
    run.signal(Signal::SIGCONT);
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    assert!(stderr.contains("token is lost"), "{stderr}");
}
