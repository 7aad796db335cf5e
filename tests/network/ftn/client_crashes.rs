//! Crashes and stops of `ringctl token run`, its keeper, its granter and the server. In each case, the work ends before
//! the next client gets the token.

use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use super::client_stand::{ClientStand, helpers, serve, serve_with, signal, wait_until_gone};

/// Exit code of a `ringctl` that lost the token.
const LOST_CODE: i32 = 75;
/// Client timeout of these tests. With this timeout, a busy machine renews the lease in time, and the tests do not wait
/// long for the end of the lease.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(4);
/// Command that ignores SIGTERM. The child of the command also ignores SIGTERM.
const STUBBORN_COMMAND: &str = "trap '' TERM; sleep 1000 & echo ready; wait; sleep 1000";
/// Command that starts a process outside the command's process group. The process closes all descriptors of `ringctl`,
/// and keeps only the test's mark open.
const DETACHED_COMMAND: &str = "setsid python3 -c 'import os, time
os.closerange(3, 9)
os.closerange(10, 1000)
print(\"ready\", flush=True)
time.sleep(1000)' & wait; sleep 1000";

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_death_of_ringctl_ends_its_work_and_returns_the_token,
        the_death_of_the_keeper_ends_its_work_before_another_begins,
        the_death_of_ringctl_and_keeper_ends_even_detached_processes,
        the_death_of_the_granter_ends_the_work_before_another_begins,
        a_granter_that_is_stopped_loses_its_work_before_another_begins,
        a_keeper_that_is_stopped_loses_its_work_before_another_begins,
        stopped_work_does_not_run_again_although_all_processes_that_would_end_it_are_stopped_too,
        a_session_without_servers_ends_with_its_lease,
        a_token_outlives_its_leader_and_its_server,
        work_that_lasts_longer_than_a_lease_keeps_the_token,
    ]
}

fn stand() -> Result<ClientStand> {
    serve_with(1, CLIENT_TIMEOUT)
}

fn the_death_of_ringctl_ends_its_work_and_returns_the_token() -> Result<()> {
    let stand = stand()?;
    let mut run = stand.start_work(STUBBORN_COMMAND)?;
    let next = stand.start_next()?;
    run.signal(Signal::SIGKILL)?;
    run.expect_signal(Signal::SIGKILL)?;
    next.check_begins_alone()
}

fn the_death_of_the_keeper_ends_its_work_before_another_begins() -> Result<()> {
    let stand = stand()?;
    let mut run = stand.start_work(STUBBORN_COMMAND)?;
    let next = stand.start_next()?;
    let (keeper, granter) = helpers(&run)?;
    signal(keeper, Signal::SIGKILL)?;
    run.expect_code(LOST_CODE)?;
    next.check_begins_alone()?;
    wait_until_gone(granter)
}

fn the_death_of_ringctl_and_keeper_ends_even_detached_processes() -> Result<()> {
    let stand = stand()?;
    let mut run = stand.start_work(DETACHED_COMMAND)?;
    let next = stand.start_next()?;
    let (keeper, granter) = helpers(&run)?;
    signal(run.pid(), Signal::SIGKILL)?;
    signal(keeper, Signal::SIGKILL)?;
    run.expect_signal(Signal::SIGKILL)?;
    next.check_begins_alone()?;
    wait_until_gone(granter)
}

fn the_death_of_the_granter_ends_the_work_before_another_begins() -> Result<()> {
    let stand = stand()?;
    let mut run = stand.start_work(STUBBORN_COMMAND)?;
    let next = stand.start_next()?;
    let (keeper, granter) = helpers(&run)?;
    signal(granter, Signal::SIGKILL)?;
    run.expect_error("ringd-granter, the process that renews its lease, was killed")?;
    run.expect_code(LOST_CODE)?;
    ensure!(stand.is_alone()?, "a process of the work is left");
    next.check_begins_alone()?;
    wait_until_gone(keeper)
}

fn a_granter_that_is_stopped_loses_its_work_before_another_begins() -> Result<()> {
    let stand = stand()?;
    let mut run = stand.start_work(STUBBORN_COMMAND)?;
    let next = stand.start_next()?;
    let (_, granter) = helpers(&run)?;
    signal(granter, Signal::SIGSTOP)?;
    run.expect_error("its lease was not renewed in time")?;
    run.expect_code(LOST_CODE)?;
    next.check_begins_alone()?;
    signal(granter, Signal::SIGCONT)?;
    wait_until_gone(granter)
}

/// A stopped keeper cannot end its work. So the kernel ends the work when the last renewed lease expires.
fn a_keeper_that_is_stopped_loses_its_work_before_another_begins() -> Result<()> {
    let stand = stand()?;
    let mut run = stand.start_work(STUBBORN_COMMAND)?;
    let next = stand.start_next()?;
    let (keeper, granter) = helpers(&run)?;
    signal(keeper, Signal::SIGSTOP)?;
    run.expect_code(LOST_CODE)?;
    next.check_begins_alone()?;
    wait_until_gone(granter)
}

fn stopped_work_does_not_run_again_although_all_processes_that_would_end_it_are_stopped_too()
-> Result<()> {
    let stand = stand()?;
    let woken = stand.file("woken");
    let line = format!(
        "echo ready; kill -STOP $$; echo >{}; sleep 1000",
        woken.display()
    );
    let mut run = stand.start_work(&line)?;
    let next = stand.start_next()?;
    let (keeper, granter) = helpers(&run)?;
    for pid in [granter, keeper, run.pid()] {
        signal(pid, Signal::SIGSTOP)?;
    }
    next.check_begins_alone()?;
    for pid in [run.pid(), granter] {
        signal(pid, Signal::SIGCONT)?;
    }
    run.expect_code(LOST_CODE)?;
    wait_until_gone(granter)?;
    ensure!(!woken.exists(), "the keeper has woken up");
    Ok(())
}

fn a_session_without_servers_ends_with_its_lease() -> Result<()> {
    let mut stand = stand()?;
    let mut run = stand
        .start_work("trap 'echo told' TERM; echo ready; while :; do sleep 1000 & wait; done")?;
    let mut hold = stand.hold(&[], "other")?;
    stand.kill_server(0)?;
    run.expect_line("told")?;
    run.expect_code(LOST_CODE)?;
    ensure!(stand.is_alone()?, "a process of the work is left");
    hold.expect_error("the token is lost")?;
    hold.expect_code(LOST_CODE)
}

/// The test does not know the first leader. So it kills the servers one after the other, except the last one.
fn a_token_outlives_its_leader_and_its_server() -> Result<()> {
    let mut stand = serve(3)?;
    stand.expect_exit(0, &["set", "t", "data"])?;
    let mut hold = stand.hold(&[], "t")?;
    for index in 0..2 {
        stand.kill_server(index)?;
        stand.expect_failure(1, "holds it exclusively", &["get", "-w", "3", "t"])?;
    }
    hold.signal(Signal::SIGTERM)?;
    hold.expect_line("returned")?;
    hold.expect_code(0)?;
    ensure!(stand.expect_exit(0, &["get", "t"])? == b"data");
    Ok(())
}

fn work_that_lasts_longer_than_a_lease_keeps_the_token() -> Result<()> {
    let stand = stand()?;
    // The work lasts longer than a client timeout.
    let mut run = stand.start_work("echo ready; sleep 5; exit 5")?;
    run.expect_code(5)?;
    stand.expect_exit(0, &["run", "-n", "t", "--", "true"])?;
    Ok(())
}
