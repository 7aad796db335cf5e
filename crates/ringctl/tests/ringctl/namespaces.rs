//! `ringctl` in its own namespaces, as in a container.

use std::process::Command;

use nix::unistd::geteuid;

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{RINGCTL, Running};

tests! {
    as_process_1_it_waits_for_orphans,
    as_process_1_it_forwards_signals,
    no_command_runs_in_another_time_namespace_than_an_unknown_clocks,
}

/// Starts `ringctl run` with a shell line, in its own namespaces.
pub(crate) fn spawn_unshared(namespaces: &[&str], fake: &FakeDaemon, line: &str) -> Running {
    let mut unshare = Command::new("unshare");
    unshare.args(["--fork", "--kill-child"]).args(namespaces);
    if !geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    let ringctl = unshare.arg(RINGCTL).arg("--socket").arg(fake.path());
    ringctl.env_remove("RINGD_TOKEN").env_remove("RINGD_LOCK");
    Running::start(ringctl.args(["run", "-c", line]))
}

fn as_process_1(fake: &FakeDaemon, line: &str) -> Running {
    spawn_unshared(&["--pid", "--mount-proc"], fake, line)
}

fn as_process_1_it_waits_for_orphans() {
    let fake = FakeDaemon::new();
    // A process whose parent has ended becomes a child of process 1.
    let line =
        "orphan=$( (true & echo $!) ); while [ -d /proc/$orphan ]; do sleep 0.01; done; exit 7";
    let mut run = as_process_1(&fake, line);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(7));
}

fn as_process_1_it_forwards_signals() {
    let fake = FakeDaemon::new();
    let line = "trap 'exit 9' TERM; kill -TERM 1; while :; do sleep 0.01; done";
    let mut run = as_process_1(&fake, line);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.code(), Some(9));
}

/// By the clock of the other namespace, the lease would end at a different time.
fn no_command_runs_in_another_time_namespace_than_an_unknown_clocks() {
    let fake = FakeDaemon::new();
    let late = ["--time", "--boottime", "-4"];
    let mut run = spawn_unshared(&late, &fake, "echo runs");
    let mut client = fake.next_client();
    client.request();
    client.grant_by_unknown_clock(ENDLESS_LEASE);
    assert_eq!(run.rest(), "", "it runs");
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("ringd does not know its clock"), "{stderr}");
}
