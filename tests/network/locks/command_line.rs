//! `ringctl run` with the options that users of `flock` know.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Layout, Message, Ring, Test, Timing, WAIT, binaries, tests};

use crate::locks::program::Running;
use crate::locks::scene::{LockScene, wait_until_queued};
use crate::locks::{
    LOST_CODE, WAIT_LIMIT, connect, ringctl, shared_ring, wait_until_holder_is_known,
};

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_exit_code_of_a_run_that_does_not_wait_reports_another_holder,
        a_lost_request_is_repeated_for_a_client_that_does_not_wait,
        a_limited_wait_ends_with_its_exit_code,
        a_limited_wait_gets_the_token_when_the_holder_ends,
        a_time_limit_ends_the_command_and_the_next_command_gets_the_token,
        the_environment_describes_the_held_token,
        a_command_under_the_token_is_refused_to_wait_for_itself,
        input_and_output_pass_through_a_pipeline,
    ]
}

fn run(daemon: &Daemon, arguments: &[&str]) -> Result<Running> {
    Running::start(&mut ringctl(daemon, &[&["run"], arguments].concat()))
}

fn the_exit_code_of_a_run_that_does_not_wait_reports_another_holder() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    wait_until_holder_is_known(&ring.daemons[1], "holder")?;
    let held = format!("not waited for: held by {} (holder), ", ring.macs()[0]);
    for daemon in &ring.daemons {
        for (options, code) in [(&["-n"][..], 1), (&["-n", "-E", "9"], 9)] {
            let mut refused = run(daemon, &[options, &["-c", "echo runs"]].concat())?;
            ensure!(refused.remaining_output().is_empty(), "the command runs");
            let errors = refused.errors();
            ensure!(errors.contains(&held), "{errors}");
            let is_here = daemon.control() == ring.daemons[0].control();
            ensure!(errors.contains("this machine") == is_here, "{errors}");
            refused.expect_code(code)?;
        }
    }
    holder.unlock()?;
    // On a busy machine the token may arrive only after the end of the wait.
    let deadline = Instant::now() + WAIT_LIMIT;
    while run(&ring.daemons[1], &["-n", "true"])?.wait()?.code() != Some(0) {
        ensure!(Instant::now() < deadline, "no command got the lock in time");
    }
    Ok(())
}

fn a_lost_request_is_repeated_for_a_client_that_does_not_wait() -> Result<()> {
    const HEARTBEAT: Duration = Duration::from_millis(500);
    let timing = Timing::tolerant(HEARTBEAT).idle_hold(100 * HEARTBEAT);
    let segment = Layout::new(2).addresses().switch(1)?;
    let ring = Ring::start(segment, 2, timing, binaries())?;
    ring.wait_until_formed()?;
    let waiter = |daemon: &Daemon| Ok::<_, anyhow::Error>(daemon.status()?["state"] == "WAITER");
    let at = usize::from(!waiter(&ring.daemons[0])?);
    let silence = |is_silent: bool| {
        ring.segment.rules().set(|rules| {
            rules.blocked.clear();
            rules.blocked.extend(is_silent.then_some((at, 1 - at)));
        });
    };
    silence(true);
    let mut run = run(&ring.daemons[at], &["-n", "true"])?;
    ring.segment.capture().wait_until(WAIT_LIMIT, |seen| {
        let mut kinds = seen.iter().map(|frame| &frame.message);
        kinds
            .any(|message| *message == Message::WantToken)
            .then_some(())
    })?;
    silence(false);
    run.expect_code(0)
}

fn a_limited_wait_ends_with_its_exit_code() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    wait_until_holder_is_known(&ring.daemons[1], "holder")?;
    for (options, code) in [(&["-w", "0.3"][..], 1), (&["-w", "0.3", "-E", "9"], 9)] {
        let begun = Instant::now();
        let mut late = run(
            &ring.daemons[1],
            &[options, &["--", "echo", "runs"]].concat(),
        )?;
        ensure!(late.remaining_output().is_empty(), "the command runs");
        let errors = late.errors();
        let why = format!("timed out after 300 ms: held by {}", ring.macs()[0]);
        ensure!(errors.contains(&why), "{errors}");
        late.expect_code(code)?;
        let waited = begun.elapsed();
        ensure!(waited >= Duration::from_millis(300), "{waited:?}");
    }
    Ok(())
}

fn a_limited_wait_gets_the_token_when_the_holder_ends() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    let mut waits = run(&ring.daemons[1], &["-w", WAIT, "echo", "runs"])?;
    wait_until_queued(&ring.daemons[1], "echo")?;
    holder.unlock()?;
    waits.expect_line("runs")?;
    waits.expect_code(0)
}

fn a_time_limit_ends_the_command_and_the_next_command_gets_the_token() -> Result<()> {
    let scene = LockScene::new()?;
    let begun = Instant::now();
    let mut work = scene.start_work(
        &["--max-hold", "2s"],
        "trap 'echo told; exit 0' TERM; sleep 1000 & echo ready; wait",
    )?;
    let next = scene.start_next()?;
    work.expect_line("told")?;
    next.check_begins_alone()?;
    let errors = work.errors();
    ensure!(errors.contains("--max-hold (2 s) reached"), "{errors}");
    work.expect_code(LOST_CODE)?;
    // The command gets a signal one second before the time limit.
    let worked = begun.elapsed();
    ensure!(worked >= Duration::from_secs(1), "{worked:?}");
    Ok(())
}

fn the_environment_describes_the_held_token() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    run(
        daemon,
        &["-c", &format!("{} data set hello", ringctl_line(daemon))],
    )?
    .expect_code(0)?;
    let line = "echo $RINGD_TOKEN; echo $RINGD_PROGRESS $RINGD_GRADE $RINGD_DATA; read end";
    let mut command = ringctl(daemon, &["run", "-c", line]);
    let mut work = Running::start(command.stdin(Stdio::piped()))?;
    let (fencing, others) = (work.line(), work.line());
    let status = daemon.status()?;
    let token = &status["token"];
    let author = token["author"].as_str().context("a token")?;
    let held = format!("{}-{author}-{}", token["progress"], token["number"]);
    ensure!(
        fencing == held,
        "RINGD_TOKEN is {fencing} instead of {held}"
    );
    let others: Vec<_> = others.split(' ').collect();
    let [progress, grade, data] = others[..] else {
        anyhow::bail!("three words instead of {others:?}");
    };
    ensure!(token["progress"] == progress.parse::<u64>()?, "{progress}");
    ensure!(["alone", "all-heard", "quorum"].contains(&grade), "{grade}");
    ensure!(data == "68656c6c6f", "{data}");
    work.close_input();
    work.wait().map(drop)
}

/// Checks each command of `ringctl` that would wait for the token: the command must refuse to wait.
fn a_command_under_the_token_is_refused_to_wait_for_itself() -> Result<()> {
    let ring = shared_ring(2)?;
    let (daemon, ringctl) = (&ring.daemons[0], ringctl_line(&ring.daemons[0]));
    for asks in [
        "run true",
        "run -E 9 -w 60 true",
        "run -n -E 9 true",
        "lock -E 9",
        "lock -E 9 --pipe",
        "pause --drain --wait",
        "pause --wait 60",
    ] {
        let line = format!("{ringctl} {asks} 2>&1; echo $?");
        let mut outer = run(daemon, &["-c", &line])?;
        let text = outer.remaining_output();
        ensure!(
            text.contains("already runs under the token"),
            "{asks}: {text}"
        );
        ensure!(text.ends_with("\n1\n"), "{asks}: {text}");
        outer.expect_code(0)?;
    }
    // A command under the lock may request a pause if it does not wait for the end of the pause.
    let line = format!("{ringctl} pause --drain --wait 0; echo $?; {ringctl} resume; echo $?");
    let text = run(daemon, &["-c", &line])?.remaining_output();
    ensure!(text == "6\n0\n", "{text}");
    // Each of the two variables is enough for a refusal, except in a hook, which has no lock.
    for (hook, is_refused) in [("", true), ("RINGD_EVENT=owner", false)] {
        let line = format!("unset RINGD_LOCK; {hook} {ringctl} run -n true 2>&1");
        let text = run(daemon, &["-c", &line])?.remaining_output();
        ensure!(
            text.contains("already runs under the token") == is_refused,
            "{text}"
        );
    }
    // The lock with this token has already ended, so a wait causes no deadlock.
    let later = format!("RINGD_LOCK=1-02:00:00:00:00:01-1 {ringctl} run echo runs");
    let mut shell = Command::new("sh");
    let mut shell = Running::start(shell.args(["-c", &later]).stdin(Stdio::null()))?;
    shell.expect_line("runs")?;
    shell.expect_code(0)
}

/// Returns the `ringctl` command line for this daemon.
fn ringctl_line(daemon: &Daemon) -> String {
    let socket = daemon.control();
    format!("{} --socket {}", binaries().ringctl, socket.display())
}

fn input_and_output_pass_through_a_pipeline() -> Result<()> {
    let ring = shared_ring(2)?;
    let ringctl = ringctl_line(&ring.daemons[1]);
    let lines = [
        (format!("echo x | {ringctl} run cat | tr x y"), "y\n"),
        // The input is longer than the buffer of a pipe.
        (
            format!("head -c 1000000 /dev/zero | {ringctl} run -- cat | wc -c"),
            "1000000\n",
        ),
        (
            format!("{ringctl} run -c 'echo out && echo err >&2; exit 3' 2>/dev/null; echo $?"),
            "out\n3\n",
        ),
    ];
    for (line, shown) in lines {
        let mut shell = Command::new("sh");
        let mut shell = Running::start(shell.args(["-c", &line]).stdin(Stdio::null()))?;
        let text = shell.remaining_output();
        ensure!(text == shown, "{line}: {text:?}");
        shell.expect_code(0)?;
    }
    Ok(())
}
