//! `ringctl` in namespaces of its own, as in a container.

use std::process::Command;

use nix::unistd::geteuid;

use crate::fake::{Fake, LONG};
use crate::program::{RINGCTL, Running};

tests! {
    as_process_1_it_waits_for_whatever_ends,
    as_process_1_it_passes_signals_on,
    nothing_runs_in_another_time_namespace_than_that_of_an_unknown_clock,
}

/// `ringctl run` with a line for the shell, in namespaces of its own.
pub(crate) fn unshared(namespaces: &[&str], fake: &Fake, line: &str) -> Running {
    let mut unshare = Command::new("unshare");
    unshare.args(["--fork", "--kill-child"]).args(namespaces);
    if !geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    let ringctl = unshare.arg(RINGCTL).arg("--socket").arg(fake.path());
    ringctl.env_remove("RINGD_TOKEN").env_remove("RINGD_LOCK");
    Running::start(ringctl.args(["run", "-c", line]))
}

fn as_process_1(fake: &Fake, line: &str) -> Running {
    unshared(&["--pid", "--mount-proc"], fake, line)
}

fn as_process_1_it_waits_for_whatever_ends() {
    let fake = Fake::new();
    // Whose parent is gone is process 1's child.
    let line =
        "orphan=$( (true & echo $!) ); while [ -d /proc/$orphan ]; do sleep 0.01; done; exit 7";
    let mut run = as_process_1(&fake, line);
    let mut client = fake.grant(LONG);
    client.unlocked();
    assert_eq!(run.code(), Some(7));
}

fn as_process_1_it_passes_signals_on() {
    let fake = Fake::new();
    let line = "trap 'exit 9' TERM; kill -TERM 1; while :; do sleep 0.01; done";
    let mut run = as_process_1(&fake, line);
    let mut client = fake.grant(LONG);
    client.unlocked();
    assert_eq!(run.code(), Some(9));
}

/// By the clock there, the end of the lease is another time.
fn nothing_runs_in_another_time_namespace_than_that_of_an_unknown_clock() {
    let fake = Fake::new();
    let late = ["--time", "--boottime", "-4"];
    let mut run = unshared(&late, &fake, "echo runs");
    let mut client = fake.client();
    client.request();
    client.grant_by_unknown_clock(LONG);
    assert_eq!(run.rest(), "", "it runs");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("ringd does not know its clock"), "{said}");
}
