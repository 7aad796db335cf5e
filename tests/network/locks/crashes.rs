//! Crashes of `ringctl`, of its keeper and of the command.

use std::fs;

use anyhow::{Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::{Daemon, Test, proc, tests};

use crate::locks::program::Running;
use crate::locks::scene::{LockScene, holder};
use crate::locks::{LOST_CODE, WAIT_LIMIT};

/// Command that ignores SIGTERM. The child of the command also ignores SIGTERM.
const STUBBORN_COMMAND: &str = "trap '' TERM; sleep 1000 & echo ready; wait; sleep 1000";

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_death_of_ringctl_ends_its_work_before_another_begins,
        the_death_of_the_keeper_ends_its_work_before_another_begins,
        the_token_is_released_at_once_when_the_command_dies,
        processes_outside_the_process_group_end_with_ringctl_and_its_keeper,
        processes_without_descriptors_end_with_ringctl_and_its_keeper,
        a_keeper_has_the_priority_of_its_daemon,
    ]
}

fn the_death_of_ringctl_ends_its_work_before_another_begins() -> Result<()> {
    let scene = LockScene::new()?;
    let mut run = scene.start_work(&["--grace", "200ms"], STUBBORN_COMMAND)?;
    let next = scene.start_next()?;
    run.signal(Signal::SIGKILL)?;
    run.expect_signal(Signal::SIGKILL)?;
    next.check_begins_alone()
}

/// The daemon's only connection goes to the keeper. The kernel and `ringctl` end the work.
fn the_death_of_the_keeper_ends_its_work_before_another_begins() -> Result<()> {
    let scene = LockScene::new()?;
    let mut run = scene.start_work(&[], STUBBORN_COMMAND)?;
    let next = scene.start_next()?;
    let keeper = holder(scene.first())?;
    ensure!(keeper != run.pid(), "the keeper is another process");
    let lost = |daemon: &Daemon| -> Result<u64> {
        let status = daemon.status()?;
        let count = status["locks"]["lost"]["gone"].as_u64();
        Ok(count.unwrap_or_default())
    };
    let before = lost(scene.first())?;
    let beginning = format!("process {keeper} ");
    kill(keeper, Signal::SIGKILL)?;
    next.check_begins_alone()?;
    run.expect_code(LOST_CODE)?;
    scene.first().wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&beginning)
            && line.contains(": it was killed or ended before it released the lock")
    })?;
    ensure!(
        lost(scene.first())? == before + 1,
        "the release is not counted"
    );
    Ok(())
}

/// Processes that the command started must end too, although the command did not signal them.
fn the_token_is_released_at_once_when_the_command_dies() -> Result<()> {
    let scene = LockScene::new()?;
    let mut run = scene.start_work(&[], "sleep 1000 & echo ready; echo $$; wait")?;
    let next = scene.start_next()?;
    let command = Pid::from_raw(run.line().parse()?);
    kill(command, Signal::SIGKILL)?;
    next.check_begins_alone()?;
    run.expect_code(128 + Signal::SIGKILL as i32)
}

/// Checks that work ends when `ringctl` is killed and its keeper is killed or stopped. Calls `check` before it kills
/// them.
fn check_work_ends_without_both(
    line: &str,
    check: impl Fn(&mut Running) -> Result<()>,
) -> Result<()> {
    let scene = LockScene::new()?;
    for keeper_is_killed in [true, false] {
        let mut run = scene.start_work(&[], line)?;
        check(&mut run)?;
        let next = scene.start_next()?;
        let keeper = holder(scene.first())?;
        kill(keeper, Signal::SIGSTOP)?;
        run.signal(Signal::SIGKILL)?;
        run.expect_signal(Signal::SIGKILL)?;
        if keeper_is_killed {
            kill(keeper, Signal::SIGKILL)?;
        }
        next.check_begins_alone()?;
    }
    Ok(())
}

fn processes_outside_the_process_group_end_with_ringctl_and_its_keeper() -> Result<()> {
    let line = "setsid sh -c 'echo ready; grep -c /ringctl- /proc/self/cgroup; exec sleep 1000' & \
        wait; sleep 1000";
    check_work_ends_without_both(line, |run| {
        let group = run.line();
        ensure!(
            group == "1",
            "cannot make a control group: run the tests as root"
        );
        Ok(())
    })
}

/// Command that prints "ready" and closes all descriptors of `ringctl`. The command keeps only one descriptor open: the
/// test's mark.
pub(super) const CLOSES_ALL: &str = "exec python3 -c 'import os, time
os.closerange(3, 9)
os.closerange(10, 1000)
print(\"ready\", flush=True)
time.sleep(1000)'";

/// Daemonized processes close their descriptors too.
fn processes_without_descriptors_end_with_ringctl_and_its_keeper() -> Result<()> {
    check_work_ends_without_both(CLOSES_ALL, |_| Ok(()))
}

/// The keeper is in its own session. If a different session were busy, the keeper could wait for a CPU for seconds, and
/// its lease would expire.
fn a_keeper_has_the_priority_of_its_daemon() -> Result<()> {
    let scene = LockScene::new()?;
    let _work = scene.start_work(&[], "echo ready; exec sleep 1000")?;
    let keeper = holder(scene.first())?;
    let (nice, keepers) = (proc::nice(scene.first().pid())?, proc::nice(keeper)?);
    ensure!(keepers == nice, "{keepers} instead of {nice}");
    // If the keeper may not lower its nice value, the session's nice value does not change either. Kernels without
    // autogroups have no such file.
    if nice < 0
        && let Ok(session) = fs::read_to_string(format!("/proc/{keeper}/autogroup"))
    {
        let favor = format!("nice {nice}");
        ensure!(session.trim_end().ends_with(&favor), "{session}");
    }
    Ok(())
}
