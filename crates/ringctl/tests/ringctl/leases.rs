//! What holds a lock ends before its lease does, whatever becomes of `ringctl`. All that wait for the end of a lease do so at one
//! time: each of them costs that whole time, and next to nothing else.

use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use ring_segment::{Case, side_by_side};
use serde_json::Value;

use crate::fake::{Client, Fake, LONG, boot_time};
use crate::leaving::{moving, need_groups};
use crate::locking::{TOKEN, start};
use crate::loss::{LEASE, polite, stubborn};
use crate::namespaces::unshared;
use crate::program::{Running, SLEEP, Witness};

tests! {
    exclusive whatever_a_command_does_and_whoever_is_stopped_it_ends_before_its_lease,
    exclusive the_kernel_ends_a_command_whose_keeper_is_stopped,
}

/// Runs all of them beside one another.
fn all_at_once(cases: &[Case<fn()>]) {
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

fn whatever_a_command_does_and_whoever_is_stopped_it_ends_before_its_lease() {
    all_at_once(&[
        ("lost: it does not end by itself", a_stubborn_one),
        ("lost: a grandchild has left its group", a_grandchild),
        ("lost: it has left its control group", one_that_moves),
        ("not renewed: it ends when told to", || not_renewed(true)),
        ("not renewed: it does not", || not_renewed(false)),
        ("not renewed: another time namespace", another_time),
        ("not renewed: ringctl is stopped", a_stopped_ringctl),
        ("not renewed: a pipe", a_pipe),
        ("not renewed: a pipe, stopped", a_stopped_pipe),
    ]);
}

/// A shell that says `ready` and does not end by itself loses its lock: nothing of it is left in time.
fn ends_in_time(line: &str) {
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let mut run = Running::shell(&fake, &witness.seeing(line));
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    let until = client.lose(LEASE);
    witness.wait_for_end();
    assert!(boot_time() < until, "its last process ended too late");
    client.unlocked();
    assert_eq!(run.code(), Some(75));
}

fn a_stubborn_one() {
    ends_in_time(&stubborn());
}

fn a_grandchild() {
    need_groups();
    ends_in_time("setsid sh -c 'trap \"\" TERM; echo ready; exec sleep 1000' & wait");
}

/// The lock is given back as soon as all that it had is known to have ended.
fn one_that_moves() {
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let line = format!("trap '' TERM; {SLEEP}; echo ready; wait");
    let mut run = Running::shell(&fake, &witness.seeing(&moving(&line)));
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    let until = client.lose(LEASE);
    client.unlocked();
    witness.has_ended();
    assert!(boot_time() < until, "its last process ended too late");
    assert_eq!(run.code(), Some(75));
}

/// A command whose lease is not renewed, and the daemon that it hears of no more. What is to happen once it runs is done by `then`.
fn lasts_no_longer(line: &str, then: impl FnOnce(&Running)) -> (Running, (Client, Fake)) {
    started_it_lasts_no_longer(Running::shell, line, then)
}

/// The same of one that is started so.
fn started_it_lasts_no_longer(
    start: impl FnOnce(&Fake, &str) -> Running,
    line: &str,
    then: impl FnOnce(&Running),
) -> (Running, (Client, Fake)) {
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let mut run = start(&fake, &witness.seeing(line));
    let mut client = fake.client();
    client.request();
    let until = client.grant(LEASE);
    assert_eq!(run.line(), "ready");
    then(&run);
    witness.wait_for_end();
    assert!(boot_time() < until, "its last process ended too late");
    client.unlocked();
    (run, (client, fake))
}

fn not_renewed(is_polite: bool) {
    let line = if is_polite { polite() } else { stubborn() };
    let (mut run, _daemon) = lasts_no_longer(&line, |_| ());
    assert_eq!(run.line() == "told", is_polite, "it is told first");
    assert_eq!(run.code(), Some(75));
}

/// Its clock is so late that by it the lease would end after the test.
fn another_time() {
    let late = ["--time", "--boottime", "-4"];
    let start = |fake: &Fake, line: &str| unshared(&late, fake, line);
    let (mut run, _daemon) = started_it_lasts_no_longer(start, &stubborn(), |_| ());
    assert_eq!(run.code(), Some(75));
}

fn a_stopped_ringctl() {
    let stop = |run: &Running| run.signal(Signal::SIGSTOP);
    let (mut run, _daemon) = lasts_no_longer(&stubborn(), stop);
    run.signal(Signal::SIGCONT);
    assert_eq!(run.code(), Some(75));
}

/// A pipe whose lease is not renewed: it, the daemon that it hears of no more, and until when it may last.
fn pipe() -> (Running, (Client, Fake), Duration) {
    let fake = Fake::new();
    let mut lock = start(&fake, &["lock", "--pipe"]);
    let mut client = fake.client();
    client.request();
    let until = client.grant(LEASE);
    assert_eq!(lock.line(), TOKEN);
    (lock, (client, fake), until)
}

fn a_pipe() {
    let (mut lock, _daemon, until) = pipe();
    assert_eq!(lock.rest(), "");
    assert!(boot_time() < until, "its end comes too late");
    assert_eq!(lock.code(), Some(75));
}

fn a_stopped_pipe() {
    let (mut lock, _daemon, _) = pipe();
    lock.signal(Signal::SIGSTOP);
    assert_eq!(lock.rest(), "");
    assert_eq!(lock.killed_by(), Some(Signal::SIGKILL));
}

/// Apart from the others: its commands leave them no processor.
fn the_kernel_ends_a_command_whose_keeper_is_stopped() {
    all_at_once(&[
        ("the keeper is stopped", || the_kernel_ends(false)),
        ("so are ringctl and the command", || the_kernel_ends(true)),
    ]);
}

/// A shell that counts on; nothing that it counts comes after the end of its lease, though its keeper
/// is stopped, and `ringctl` and itself if `all` are.
fn the_kernel_ends(all: bool) {
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let line = "echo $$; trap '' TERM; while :; do :; done";
    let mut run = Running::shell(&fake, &witness.seeing(line));
    let mut client = fake.client();
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
        "{late:?} after its end, and not by the kernel"
    );
    assert_eq!(client.request(), Value::Null, "the lock is free");
    run.signal(Signal::SIGCONT);
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(said.contains("token is lost"), "{said}");
}
