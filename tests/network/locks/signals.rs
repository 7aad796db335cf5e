//! Signals to `ringctl run`. In each tested case, `consul lock` left work running or did not inform its caller. The
//! numbers are the numbers of consul's public issues.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use crate::locks::program::Running;
use crate::locks::scene::{LockScene, find, path, wait_until_queued};
use crate::locks::{WAIT_LIMIT, connect, ringctl};

const FATAL: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// A shell that waits for its child. The shell prints "ready" after the child has called exec, because the forked shell
/// could lose an earlier signal.
const TREE: &str = "sleep 1000 & is=sh; \
    while [ $is != sleep ]; do read is </proc/$!/comm; done; echo ready; wait";

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_signal_to_ringctl_leaves_no_process_running,
        a_terminated_command_can_clean_up_and_ringctl_returns_its_exit_code,
        a_signal_ends_the_wait_for_the_token_and_the_command_never_starts,
        a_command_that_ignores_the_loss_is_killed_before_another_client_gets_the_token,
    ]
}

fn a_signal_to_ringctl_leaves_no_process_running() -> Result<()> {
    let scene = LockScene::new()?;
    // A shell replaces itself with its last command, unless this command is "exit".
    let cases = [
        // consul#797: SIGTERM to `consul lock` left its child running while another client got the lock.
        (Signal::SIGTERM, "echo ready; exec sleep 1000"),
        // consul#3754: SIGTERM did not stop the command. consul runs a command through a shell, so the command is a
        // grandchild.
        (Signal::SIGTERM, TREE),
        (Signal::SIGTERM, "echo ready; sleep 1000; exit 5"),
        // consul#2489: `consul lock` forwarded only SIGTERM, so SIGHUP and other signals left orphans. SIGINT is not
        // among the signals here, because background processes of a shell ignore it.
        (Signal::SIGHUP, TREE),
        (Signal::SIGINT, TREE),
        // consul#1210: SIGQUIT ended `consul lock` at once and left its child running.
        (Signal::SIGQUIT, TREE),
    ];
    for (signal, line) in cases {
        let mut run = scene.start_work(&[], line)?;
        let next = scene.start_next()?;
        run.signal(signal)?;
        next.check_begins_alone()
            .and_then(|()| run.expect_code(128 + signal as i32))
            .with_context(|| format!("{signal}: {line}"))?;
    }
    Ok(())
}

/// consul#4643: SIGTERM was not forwarded, so the child could not clean up.
fn a_terminated_command_can_clean_up_and_ringctl_returns_its_exit_code() -> Result<()> {
    let scene = LockScene::new()?;
    let (begin, go) = (scene.file("begin"), scene.file("go"));
    let line = format!(
        "mkfifo {go}; trap 'echo tidies up; read go <{go}; echo tidy >{begin}; exit 7' TERM; {TREE}",
        begin = begin.display(),
        go = go.display()
    );
    let mut run = scene.start_work(&["--grace", "60s"], &line)?;
    let next = scene.start_next()?;
    run.signal(Signal::SIGTERM)?;
    run.expect_line("tidies up")?;
    // The command keeps the token during its cleanup.
    wait_until_queued(scene.second(), "next")?;
    std::fs::write(&go, "\n")?;
    next.check_begins_alone()?;
    ensure!(std::fs::read_to_string(begin)? == "tidy\n");
    run.expect_code(7)
}

/// consul#4439: consul ignored signals until it acquired the lock.
fn a_signal_ends_the_wait_for_the_token_and_the_command_never_starts() -> Result<()> {
    let scene = LockScene::new()?;
    let began = scene.file("began");
    let mut holder = connect(scene.first())?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    // One client waits on the holder's node, and a second client waits on the other node.
    for daemon in &scene.ring.daemons {
        for signal in FATAL {
            let command = ["run", "--label", "waits", "--", "touch", path(&began)?];
            let mut run = Running::start(&mut ringctl(daemon, &command))?;
            wait_until_queued(daemon, "waits")?;
            run.signal(signal)?;
            run.expect_signal(signal)?;
            let gone = |status: &_| find(status, "waits").is_none();
            daemon.wait_for_status(WAIT_LIMIT, gone)?;
        }
    }
    holder.unlock()?;
    // If the earlier client were still in the queue, it would get the token before this client.
    for daemon in &scene.ring.daemons {
        let mut after = connect(daemon)?;
        after.lock("after")?;
        after.expect("granted")?;
        after.unlock()?;
    }
    ensure!(!began.exists(), "the command was started");
    Ok(())
}

/// consul#9788: consul stopped the child only 90 s after the next client got the lock.
fn a_command_that_ignores_the_loss_is_killed_before_another_client_gets_the_token() -> Result<()> {
    let scene = LockScene::new()?;
    let mut run = scene.start_work(&[], &format!("trap '' TERM; {TREE}; sleep 1000"))?;
    let next = scene.start_next()?;
    let yields = ringctl(scene.first(), &["yield"]).output()?;
    ensure!(yields.status.success(), "{yields:?}");
    next.check_begins_alone()?;
    run.expect_code(crate::locks::LOST_CODE)
}
