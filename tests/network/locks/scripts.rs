//! `ringctl lock` and `ringctl unlock`, for scripts that cannot wrap a command.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use ring_segment::limit::is_readable;
use ring_segment::{Daemon, Test, binaries, tests};
use rustix::process::{PidfdFlags, pidfd_open};
use serde_json::Value;

use crate::locks::program::Running;
use crate::locks::scene::{LockScene, find, holder, wait_until_queued};
use crate::locks::{WAIT_LIMIT, clients, ringctl, shared_ring};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_lock_for_a_process_is_shown_and_checked_and_ends_with_the_process,
        scripts_get_the_lock_in_the_order_of_their_requests,
        the_script_in_the_help_works_and_learns_of_the_loss,
        a_script_learns_of_the_loss_although_its_keeper_is_killed_or_stopped,
        a_script_that_released_its_lock_gets_no_signal,
        a_lock_lasts_as_long_as_a_descriptor_is_open,
        a_call_from_outside_a_container_must_name_a_process,
    ]
}

/// Starts a script that does nothing and ends with the test.
fn start_script() -> Result<Running> {
    Running::start(Command::new("sleep").arg("1000").stdin(Stdio::null()))
}

/// Starts `ringctl lock` or `unlock` for a script.
fn start_for_script(script: &Running, daemon: &Daemon, arguments: &[&str]) -> Result<Running> {
    let pid = script.pid().to_string();
    let arguments = [arguments, &["--pid", &pid]].concat();
    Running::start(&mut ringctl(daemon, &arguments))
}

/// Takes a lock for a script. Returns its fencing token.
fn lock_for_script(script: &Running, daemon: &Daemon, label: &str) -> Result<String> {
    let mut lock = start_for_script(script, daemon, &["lock", "--label", label])?;
    let token = lock.line();
    lock.expect_code(0)?;
    ensure!(token.split('-').count() == 3, "{token}");
    Ok(token)
}

/// Checks that the script holds no lock, and that the exit code reports this state. In contrast, etcdctl returns 0 when
/// a lease is gone (etcd#19261).
fn check_none(script: &Running, daemon: &Daemon) -> Result<()> {
    for arguments in [&["lock", "--check"][..], &["unlock"]] {
        let mut without = start_for_script(script, daemon, arguments)?;
        let errors = without.errors();
        ensure!(
            errors.contains("that process does not have the lock"),
            "{errors}"
        );
        without.expect_code(1)?;
    }
    Ok(())
}

fn has_lock(status: &Value, label: &str) -> bool {
    find(status, label).is_some_and(|client| client["holds"] == true)
}

fn a_lock_for_a_process_is_shown_and_checked_and_ends_with_the_process() -> Result<()> {
    let scene = LockScene::new()?;
    let daemon = scene.first();
    let script = start_script()?;
    check_none(&script, daemon)?;
    let token = lock_for_script(&script, daemon, "backup")?;
    let status = daemon.status()?;
    ensure!(has_lock(&status, "backup"), "{status}");
    let mut check = start_for_script(&script, daemon, &["lock", "--check"])?;
    check.expect_line(&token)?;
    check.expect_code(0)?;
    let mut second = start_for_script(&script, daemon, &["lock"])?;
    let errors = second.errors();
    ensure!(errors.contains("already has a lock"), "{errors}");
    second.expect_code(1)?;
    let next = scene.start_next()?;
    script.signal(Signal::SIGKILL)?;
    next.check_begins_alone()?;
    ensure!(clients(daemon)?.is_empty(), "the lock is released");
    check_none(&script, daemon)
}

fn scripts_get_the_lock_in_the_order_of_their_requests() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let scripts = [
        start_script()?,
        start_script()?,
        start_script()?,
        start_script()?,
    ];
    let labels = ["first", "second", "leaves", "last"];
    lock_for_script(&scripts[0], daemon, labels[0])?;
    let mut waiting = Vec::new();
    for (script, label) in scripts.iter().zip(labels).skip(1) {
        waiting.push(start_for_script(
            script,
            daemon,
            &["lock", "--label", label],
        )?);
        wait_until_queued(daemon, label)?;
    }
    let shown = |status: &Value| -> Vec<String> {
        let clients = status["clients"].as_array().into_iter().flatten();
        let labels = clients.filter_map(|client| client["label"].as_str());
        labels.map(str::to_owned).collect()
    };
    let status = daemon.status()?;
    ensure!(shown(&status) == labels, "{status}");
    ensure!(has_lock(&status, labels[0]), "{status}");
    // The script dies while its lock command still waits.
    scripts[2].signal(Signal::SIGKILL)?;
    daemon.wait_for_status(WAIT_LIMIT, |status| shown(status).len() == 3)?;
    for (holder, left) in [(0, &["second", "last"][..]), (1, &["last"])] {
        scripts[holder].signal(Signal::SIGKILL)?;
        let mut lock = waiting.remove(0);
        lock.expect_code(0)?;
        let status = daemon.status()?;
        ensure!(
            shown(&status) == left && has_lock(&status, left[0]),
            "{status}"
        );
        if holder == 0 {
            // This is the lock command of the dead script.
            ensure!(waiting.remove(0).wait()?.code() != Some(0));
        }
    }
    Ok(())
}

/// Starts `sh` with a script. In the script, `ringctl` uses this daemon.
fn shell(daemon: &Daemon, script: &str) -> Result<Running> {
    let (ringctl, socket) = (binaries().ringctl, daemon.control());
    let function = format!(
        "ringctl() {{ {ringctl} --socket {} \"$@\"; }}",
        socket.display()
    );
    let mut command = Command::new("env");
    command.args(["--default-signal", "sh", "-c"]);
    command.arg(format!("{function}\n{script}"));
    Running::start(command.stdin(Stdio::piped()))
}

/// Returns the script that follows this line in the help of `ringctl lock`.
fn script_of_the_help(below: &str) -> Result<String> {
    let mut help = Command::new(binaries().ringctl);
    let help = help.args(["lock", "--help"]).output()?;
    let help = String::from_utf8(help.stdout)?;
    let (_, rest) = help
        .split_once(below)
        .context("the script is in the help")?;
    let lines = rest
        .lines()
        .skip(1)
        .map_while(|line| line.strip_prefix("  "));
    let lines: Vec<_> = lines.collect();
    Ok(lines.join("\n") + "\n")
}

fn the_script_in_the_help_works_and_learns_of_the_loss() -> Result<()> {
    let scene = LockScene::new()?;
    let (nfs, work) = (scene.file("nfs"), scene.file("work"));
    fs::create_dir(&nfs)?;
    fs::create_dir(&work)?;
    let help = script_of_the_help("Bind the lock to the process of a script:")?;
    ensure!(help.lines().count() == 4, "{help}");
    let (holds, unlocks) = help
        .split_once("ringctl unlock")
        .context("the end of the script")?;
    let script = format!(
        "cd {}; echo one > report\n{holds}echo guarded\nread go\nringctl unlock{unlocks}echo unlocked; read go",
        work.display()
    );
    let script = script.replace("/nfs", &nfs.display().to_string());
    let mut works = shell(scene.first(), &script)?;
    works.expect_line("guarded")?;
    ensure!(fs::read_to_string(nfs.join("report"))? == "one\n");
    let mut get = Running::start(&mut ringctl(scene.first(), &["data", "get", "--raw"]))?;
    let data = get.remaining_output();
    ensure!(data == "report moved", "{data}");
    ensure!(clients(scene.first())?.len() == 1, "the lock is held");
    works.write_input("go\n")?;
    works.expect_line("unlocked")?;
    ensure!(clients(scene.first())?.is_empty(), "the lock is released");
    works.write_input("go\n")?;
    works.expect_code(0)?;

    let mut loses = shell(scene.first(), &script)?;
    loses.expect_line("guarded")?;
    let next = scene.start_next()?;
    ringctl(scene.first(), &["yield"]).output()?;
    next.check_begins_alone()?;
    loses.expect_signal(Signal::SIGTERM)
}

fn a_script_learns_of_the_loss_although_its_keeper_is_killed_or_stopped() -> Result<()> {
    let scene = LockScene::new()?;
    for signal in [Signal::SIGKILL, Signal::SIGSTOP] {
        let mut script = start_script()?;
        start_for_script(&script, scene.first(), &["lock", "--kill"])?.expect_code(0)?;
        let keeper = holder(scene.first())?;
        kill(keeper, signal)?;
        if signal == Signal::SIGSTOP {
            // The stopped script does not learn of the loss.
            ringctl(scene.first(), &["yield"]).output()?;
        }
        script.expect_signal(Signal::SIGTERM)?;
        check_none(&script, scene.first())?;
    }
    Ok(())
}

/// The script gets no signal when it releases the lock, and no signal when its keeper ends.
fn a_script_that_released_its_lock_gets_no_signal() -> Result<()> {
    let scene = LockScene::new()?;
    let mut script = start_script()?;
    start_for_script(&script, scene.first(), &["lock", "--kill"])?.expect_code(0)?;
    let keeper = holder(scene.first())?.as_raw();
    let keeper = rustix::process::Pid::from_raw(keeper).context("a process")?;
    let keeper = pidfd_open(keeper, PidfdFlags::empty())?;
    start_for_script(&script, scene.first(), &["unlock"])?.expect_code(0)?;
    ensure!(
        is_readable(&keeper, Instant::now() + WAIT_LIMIT),
        "the keeper ends"
    );
    script.signal(Signal::SIGKILL)?;
    script.expect_signal(Signal::SIGKILL)
}

/// Starts a script that uses descriptor 9 in the same way as the script in the help.
fn start_pipe(scene: &LockScene, rest: &str) -> Result<Running> {
    let help = script_of_the_help("Hold the lock until no process has file descriptor 9 open:")?;
    let (begin, _) = help.split_once("...\n").context("the node of the work")?;
    let fifo = scene.file("fifo").display().to_string();
    let begin = begin.replace("/tmp/lock.$$", &fifo);
    let begin = begin.replace("lock --pipe", "lock --pipe --label pipe");
    let begin = begin.replace("&\n", "& lock=$!\n");
    let script = format!("{begin}echo held\n{rest}");
    let mut script = shell(scene.first(), &script)?;
    script.expect_line("held")?;
    let status = scene.first().status()?;
    ensure!(has_lock(&status, "pipe"), "{status}");
    Ok(script)
}

fn a_lock_lasts_as_long_as_a_descriptor_is_open() -> Result<()> {
    let scene = LockScene::new()?;
    // A child of the script inherits the descriptor.
    let rest = "sleep 1000 & helper=$!; exec 9<&-; echo closed; \
        read go; kill $helper; echo ended; read go";
    let mut script = start_pipe(&scene, rest)?;
    let next = scene.start_next()?;
    script.expect_line("closed")?;
    let status = scene.first().status()?;
    ensure!(has_lock(&status, "pipe"), "{status}");
    script.write_input("go\n")?;
    script.expect_line("ended")?;
    next.check_begins_alone()?;
    script.write_input("go\n")?;
    script.expect_code(0)
}

/// If a process entered a container from outside, its caller has no PID in the container. So `ringctl` requires --pid.
fn a_call_from_outside_a_container_must_name_a_process() -> Result<()> {
    let ring = shared_ring(2)?;
    for arguments in [&["lock"][..], &["lock", "--check"], &["unlock"]] {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", binaries().ringctl, "--socket"]);
        command.arg(ring.daemons[0].control()).args(arguments);
        let mut lock = Running::start(command.stdin(Stdio::null()))?;
        let errors = lock.errors();
        ensure!(
            errors.contains("in another PID namespace; name a process with --pid PID"),
            "{errors}"
        );
        lock.expect_code(1)?;
    }
    Ok(())
}
