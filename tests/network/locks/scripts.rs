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
use crate::locks::scene::{Scene, find, holder, wait_until_queued};
use crate::locks::{LOST, PATIENCE, clients, ringctl, shared_ring};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_lock_is_seen_and_checked_and_freed_by_the_death_of_its_process,
        a_lock_that_is_given_back_is_gone,
        scripts_get_the_lock_in_the_order_in_which_they_came,
        the_script_in_the_help_works_and_is_told_of_the_loss,
        a_script_is_told_of_the_loss_though_its_keeper_is_killed_or_stopped,
        a_script_whose_lock_was_given_back_is_told_nothing,
        a_lock_lasts_as_long_as_a_descriptor_is_open,
        a_descriptor_is_at_its_end_when_the_lock_is_lost,
        who_is_called_from_outside_is_told_to_name_a_process,
    ]
}

/// A script that does nothing, and ends when the test does.
fn script() -> Result<Running> {
    Running::start(Command::new("sleep").arg("1000").stdin(Stdio::null()))
}

/// `ringctl lock` or `unlock` for a script, with further options.
fn on_behalf(script: &Running, daemon: &Daemon, arguments: &[&str]) -> Result<Running> {
    let pid = script.pid().to_string();
    let arguments = [arguments, &["--pid", &pid]].concat();
    Running::start(&mut ringctl(daemon, &arguments))
}

/// A lock that is held for a script: its fencing token.
fn lock(script: &Running, daemon: &Daemon, label: &str) -> Result<String> {
    let mut lock = on_behalf(script, daemon, &["lock", "--label", label])?;
    let token = lock.line();
    lock.ends_with(0)?;
    ensure!(token.split('-').count() == 3, "{token}");
    Ok(token)
}

/// No lock is held for the script, and the exit code says so: etcdctl's is 0 when a lease is gone
/// (etcd#19261).
fn check_none(script: &Running, daemon: &Daemon) -> Result<()> {
    for arguments in [&["lock", "--check"][..], &["unlock"]] {
        let mut without = on_behalf(script, daemon, arguments)?;
        let said = without.errors();
        ensure!(said.contains("no lock is held for that process"), "{said}");
        without.ends_with(1)?;
    }
    Ok(())
}

fn holds(status: &Value, label: &str) -> bool {
    find(status, label).is_some_and(|client| client["holds"] == true)
}

fn a_lock_is_seen_and_checked_and_freed_by_the_death_of_its_process() -> Result<()> {
    let scene = Scene::new()?;
    let daemon = scene.first();
    let script = script()?;
    check_none(&script, daemon)?;
    let token = lock(&script, daemon, "backup")?;
    let status = daemon.status()?;
    ensure!(holds(&status, "backup"), "{status}");
    let mut check = on_behalf(&script, daemon, &["lock", "--check"])?;
    check.says(&token)?;
    check.ends_with(0)?;
    let mut second = on_behalf(&script, daemon, &["lock"])?;
    let said = second.errors();
    ensure!(said.contains("already has a lock"), "{said}");
    second.ends_with(1)?;
    let next = scene.next()?;
    script.signal(Signal::SIGKILL)?;
    next.begins_alone()?;
    ensure!(clients(daemon)?.is_empty(), "it is freed");
    check_none(&script, daemon)
}

fn a_lock_that_is_given_back_is_gone() -> Result<()> {
    let scene = Scene::new()?;
    let script = script()?;
    lock(&script, scene.first(), "backup")?;
    let next = scene.next()?;
    on_behalf(&script, scene.first(), &["unlock"])?.ends_with(0)?;
    next.begins_alone()?;
    check_none(&script, scene.first())
}

fn scripts_get_the_lock_in_the_order_in_which_they_came() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let scripts = [script()?, script()?, script()?, script()?];
    let labels = ["first", "second", "leaves", "last"];
    lock(&scripts[0], daemon, labels[0])?;
    let mut waiting = Vec::new();
    for (script, label) in scripts.iter().zip(labels).skip(1) {
        waiting.push(on_behalf(script, daemon, &["lock", "--label", label])?);
        wait_until_queued(daemon, label)?;
    }
    let shown = |status: &Value| -> Vec<String> {
        let clients = status["clients"].as_array().into_iter().flatten();
        let labels = clients.filter_map(|client| client["label"].as_str());
        labels.map(str::to_owned).collect()
    };
    let status = daemon.status()?;
    ensure!(shown(&status) == labels, "{status}");
    ensure!(holds(&status, labels[0]), "{status}");
    // The script that it waits for dies.
    scripts[2].signal(Signal::SIGKILL)?;
    daemon.wait_for_status(PATIENCE, |status| shown(status).len() == 3)?;
    for (holder, left) in [(0, &["second", "last"][..]), (1, &["last"])] {
        scripts[holder].signal(Signal::SIGKILL)?;
        let mut lock = waiting.remove(0);
        lock.ends_with(0)?;
        let status = daemon.status()?;
        ensure!(
            shown(&status) == left && holds(&status, left[0]),
            "{status}"
        );
        if holder == 0 {
            // The one that has left.
            ensure!(waiting.remove(0).end()?.code() != Some(0));
        }
    }
    Ok(())
}

/// `sh` with a script, in which `ringctl` is that of this daemon.
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

/// The script in the help of `ringctl lock` that stands below this line.
fn script_of_the_help(below: &str) -> Result<String> {
    let mut help = Command::new(binaries().ringctl);
    let help = help.args(["lock", "--help"]).output()?;
    let help = String::from_utf8(help.stdout)?;
    let (_, rest) = help.split_once(below).context("it is in the help")?;
    let lines = rest
        .lines()
        .skip(1)
        .map_while(|line| line.strip_prefix("  "));
    let lines: Vec<_> = lines.collect();
    Ok(lines.join("\n") + "\n")
}

fn the_script_in_the_help_works_and_is_told_of_the_loss() -> Result<()> {
    let scene = Scene::new()?;
    let (nfs, work) = (scene.file("nfs"), scene.file("work"));
    fs::create_dir(&nfs)?;
    fs::create_dir(&work)?;
    let help = script_of_the_help("In a script, bound to its process:")?;
    ensure!(help.lines().count() == 4, "{help}");
    let (holds, unlocks) = help.split_once("ringctl unlock").context("its end")?;
    let script = format!(
        "cd {}; echo one > report\n{holds}echo guarded\nread go\nringctl unlock{unlocks}echo unlocked; read go",
        work.display()
    );
    let script = script.replace("/nfs", &nfs.display().to_string());
    let mut works = shell(scene.first(), &script)?;
    works.says("guarded")?;
    ensure!(fs::read_to_string(nfs.join("report"))? == "one\n");
    let mut get = Running::start(&mut ringctl(scene.first(), &["data", "get", "--raw"]))?;
    let data = get.rest();
    ensure!(data == "report moved", "{data}");
    ensure!(clients(scene.first())?.len() == 1, "it is held");
    works.types("go\n")?;
    works.says("unlocked")?;
    ensure!(clients(scene.first())?.is_empty(), "it is given back");
    works.types("go\n")?;
    works.ends_with(0)?;

    let mut loses = shell(scene.first(), &script)?;
    loses.says("guarded")?;
    let next = scene.next()?;
    ringctl(scene.first(), &["yield"]).output()?;
    next.begins_alone()?;
    loses.killed_by(Signal::SIGTERM)
}

fn a_script_is_told_of_the_loss_though_its_keeper_is_killed_or_stopped() -> Result<()> {
    let scene = Scene::new()?;
    for signal in [Signal::SIGKILL, Signal::SIGSTOP] {
        let mut script = script()?;
        on_behalf(&script, scene.first(), &["lock", "--kill"])?.ends_with(0)?;
        let keeper = holder(scene.first())?;
        kill(keeper, signal)?;
        if signal == Signal::SIGSTOP {
            // It does not hear of this.
            ringctl(scene.first(), &["yield"]).output()?;
        }
        script.killed_by(Signal::SIGTERM)?;
        check_none(&script, scene.first())?;
    }
    Ok(())
}

/// Neither then nor when its keeper ends.
fn a_script_whose_lock_was_given_back_is_told_nothing() -> Result<()> {
    let scene = Scene::new()?;
    let mut script = script()?;
    on_behalf(&script, scene.first(), &["lock", "--kill"])?.ends_with(0)?;
    let keeper = holder(scene.first())?.as_raw();
    let keeper = rustix::process::Pid::from_raw(keeper).context("a process")?;
    let keeper = pidfd_open(keeper, PidfdFlags::empty())?;
    on_behalf(&script, scene.first(), &["unlock"])?.ends_with(0)?;
    ensure!(is_readable(&keeper, Instant::now() + PATIENCE), "it ends");
    script.signal(Signal::SIGKILL)?;
    script.killed_by(Signal::SIGKILL)
}

/// As the help has it: the descriptor is 9.
fn pipe(scene: &Scene, rest: &str) -> Result<Running> {
    let help = script_of_the_help("Bound to an open file descriptor, 9,")?;
    let (begin, _) = help.split_once("...\n").context("where the work is")?;
    let fifo = scene.file("fifo").display().to_string();
    let begin = begin.replace("/tmp/lock.$$", &fifo);
    let begin = begin.replace("lock --pipe", "lock --pipe --label pipe");
    let begin = begin.replace("&\n", "& lock=$!\n");
    let script = format!("{begin}echo held\n{rest}");
    let mut script = shell(scene.first(), &script)?;
    script.says("held")?;
    let status = scene.first().status()?;
    ensure!(holds(&status, "pipe"), "{status}");
    Ok(script)
}

fn a_lock_lasts_as_long_as_a_descriptor_is_open() -> Result<()> {
    let scene = Scene::new()?;
    // What it starts inherits it.
    let rest = "sleep 1000 & helper=$!; exec 9<&-; echo closed; \
        read go; kill $helper; echo ended; read go";
    let mut script = pipe(&scene, rest)?;
    let next = scene.next()?;
    script.says("closed")?;
    let status = scene.first().status()?;
    ensure!(holds(&status, "pipe"), "{status}");
    script.types("go\n")?;
    script.says("ended")?;
    next.begins_alone()?;
    script.types("go\n")?;
    script.ends_with(0)
}

fn a_descriptor_is_at_its_end_when_the_lock_is_lost() -> Result<()> {
    let scene = Scene::new()?;
    let rest = "read -r more <&9 || echo over; wait $lock; exit $?";
    let mut script = pipe(&scene, rest)?;
    let next = scene.next()?;
    ringctl(scene.first(), &["yield"]).output()?;
    script.says("over")?;
    next.begins_alone()?;
    script.ends_with(LOST)
}

/// As by whoever enters a container: its caller has no number there.
fn who_is_called_from_outside_is_told_to_name_a_process() -> Result<()> {
    let ring = shared_ring(2)?;
    for arguments in [&["lock"][..], &["lock", "--check"], &["unlock"]] {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", binaries().ringctl, "--socket"]);
        command.arg(ring.daemons[0].control()).args(arguments);
        let mut lock = Running::start(command.stdin(Stdio::null()))?;
        let said = lock.errors();
        ensure!(
            said.contains("in another PID namespace; name a process with --pid PID"),
            "{said}"
        );
        lock.ends_with(1)?;
    }
    Ok(())
}
