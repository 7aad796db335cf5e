//! Signals to `ringctl run`. Each test is a way in which `consul lock` has left work behind, or
//! its caller in the dark; the numbers are those of its public reports.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use crate::locks::program::Running;
use crate::locks::scene::{Scene, find, path, wait_until_queued};
use crate::locks::{PATIENCE, connect, ringctl};

const FATAL: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// A shell, and something that it has started and waits for. It is ready when that has become another
/// program: a signal that hits a shell's child before that may be lost in it.
const TREE: &str = "sleep 1000 & is=sh; \
    while [ $is != sleep ]; do read is </proc/$!/comm; done; echo ready; wait";

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_terminated_ringctl_leaves_no_command_running,
        a_terminated_ringctl_leaves_nothing_running_that_a_shell_has_started,
        a_terminated_command_tidies_up_in_peace_and_its_exit_code_is_handed_on,
        a_hang_up_or_an_interrupt_leaves_no_orphans,
        a_quit_strands_nothing,
        a_signal_ends_the_wait_for_the_token_and_nothing_is_ever_started,
        what_ignores_the_loss_of_the_token_is_killed_before_another_has_it,
    ]
}

/// consul#797: SIGTERM to `consul lock` left its child running, and the lock was another's.
fn a_terminated_ringctl_leaves_no_command_running() -> Result<()> {
    let scene = Scene::new()?;
    let mut run = scene.work(&[], "echo ready; exec sleep 1000")?;
    let next = scene.next()?;
    run.signal(Signal::SIGTERM)?;
    next.begins_alone()?;
    run.ends_with(128 + Signal::SIGTERM as i32)
}

/// consul#3754: SIGTERM did not stop the child. Through a shell, by which consul runs it, that is a
/// grandchild.
fn a_terminated_ringctl_leaves_nothing_running_that_a_shell_has_started() -> Result<()> {
    let scene = Scene::new()?;
    // The shell waits for the end of the second, which does not take its place.
    for line in [TREE, "echo ready; sleep 1000; exit 5"] {
        let mut run = scene.work(&[], line)?;
        let next = scene.next()?;
        run.signal(Signal::SIGTERM)?;
        next.begins_alone()?;
        run.ends_with(128 + Signal::SIGTERM as i32)?;
    }
    Ok(())
}

/// consul#4643: SIGTERM was not passed on, so that the child could not end well.
fn a_terminated_command_tidies_up_in_peace_and_its_exit_code_is_handed_on() -> Result<()> {
    let scene = Scene::new()?;
    let (begin, go) = (scene.file("begin"), scene.file("go"));
    let line = format!(
        "mkfifo {go}; trap 'echo tidies up; read go <{go}; echo tidy >{begin}; exit 7' TERM; {TREE}",
        begin = begin.display(),
        go = go.display()
    );
    let mut run = scene.work(&["--grace", "60s"], &line)?;
    let next = scene.next()?;
    run.signal(Signal::SIGTERM)?;
    run.says("tidies up")?;
    // For as long as that takes the token is its.
    wait_until_queued(scene.second(), "next")?;
    std::fs::write(&go, "\n")?;
    next.begins_alone()?;
    ensure!(std::fs::read_to_string(begin)? == "tidy\n");
    run.ends_with(7)
}

/// consul#2489: of the signals that ended `consul lock` only SIGTERM was passed on; SIGHUP and others
/// left orphans. What a shell starts in the background does not hear SIGINT at all.
fn a_hang_up_or_an_interrupt_leaves_no_orphans() -> Result<()> {
    let scene = Scene::new()?;
    for signal in [Signal::SIGHUP, Signal::SIGINT] {
        let mut run = scene.work(&[], TREE)?;
        let next = scene.next()?;
        run.signal(signal)?;
        next.begins_alone()?;
        run.ends_with(128 + signal as i32)?;
    }
    Ok(())
}

/// consul#1210: SIGQUIT ended `consul lock` on the spot, and its child was nobody's.
fn a_quit_strands_nothing() -> Result<()> {
    let scene = Scene::new()?;
    let mut run = scene.work(&[], TREE)?;
    let next = scene.next()?;
    run.signal(Signal::SIGQUIT)?;
    next.begins_alone()?;
    run.ends_with(128 + Signal::SIGQUIT as i32)
}

/// consul#4439: signals were thrown away until the lock was acquired.
fn a_signal_ends_the_wait_for_the_token_and_nothing_is_ever_started() -> Result<()> {
    let scene = Scene::new()?;
    let began = scene.file("began");
    let mut holder = connect(scene.first())?;
    holder.lock("holder")?;
    holder.hears("granted")?;
    // One waits where the holder is, the other one where it is not.
    for daemon in &scene.ring.daemons {
        for signal in FATAL {
            let command = ["run", "--label", "waits", "--", "touch", path(&began)?];
            let mut run = Running::start(&mut ringctl(daemon, &command))?;
            wait_until_queued(daemon, "waits")?;
            run.signal(signal)?;
            run.killed_by(signal)?;
            let gone = |status: &_| find(status, "waits").is_none();
            daemon.wait_for_status(PATIENCE, gone)?;
        }
    }
    holder.unlock()?;
    // Whoever has a place before it would have been served before.
    for daemon in &scene.ring.daemons {
        let mut after = connect(daemon)?;
        after.lock("after")?;
        after.hears("granted")?;
        after.unlock()?;
    }
    ensure!(!began.exists(), "the command was started");
    Ok(())
}

/// consul#9788: the child was stopped a minute and a half after another one had the lock.
fn what_ignores_the_loss_of_the_token_is_killed_before_another_has_it() -> Result<()> {
    let scene = Scene::new()?;
    let mut run = scene.work(&[], &format!("trap '' TERM; {TREE}; sleep 1000"))?;
    let next = scene.next()?;
    let yields = ringctl(scene.first(), &["yield"]).output()?;
    ensure!(yields.status.success(), "{yields:?}");
    next.begins_alone()?;
    run.ends_with(crate::locks::LOST)
}
