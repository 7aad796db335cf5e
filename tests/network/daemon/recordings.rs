//! Recordings of the last frames and events, and their repetition.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Binaries, Daemon, Layout, Ring, Test, WAIT_LIMIT, binaries, program, tests};

use crate::locks::{Client, ringctl, shared_ring, timing};

/// The number of recordings that a daemon keeps for operators.
const FILES_MAX: usize = 4;
/// The exit code of a Rust program that panicked.
const PANIC_CODE: i32 = 101;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_recording_of_a_running_ring_repeats_and_tshark_reads_it,
        a_daemon_keeps_only_its_newest_recordings,
        a_lost_lock_leaves_a_recording_that_repeats,
        a_panic_leaves_a_recording_that_repeats,
    ]
}

/// Repeats a recording, and returns the output of the simulator.
fn replay(recording: &Path) -> Result<String> {
    let output = Command::new(program("ring-sim"))
        .arg("replay")
        .arg(recording)
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Makes the daemon write a recording, and returns the path that `ringctl` prints.
fn dump(daemon: &Daemon, options: &[&str]) -> Result<PathBuf> {
    let output = ringctl(daemon, &[&["dump"], options].concat()).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim_end().into())
}

fn recordings(daemon: &Daemon) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(daemon.state_dir())? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "pcapng") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn a_recording_of_a_running_ring_repeats_and_tshark_reads_it() -> Result<()> {
    let ring = shared_ring(3)?;
    let folder = tempfile::tempdir()?;
    for (at, daemon) in ring.daemons.iter().enumerate() {
        let run = ringctl(daemon, &["run", "--", "true"]).output()?;
        ensure!(run.status.success(), "{run:?}");
        let copy = folder.path().join(format!("{at}.pcapng"));
        let named = copy.to_str().context("a plain path")?;
        ensure!(dump(daemon, &["-o", named])? == copy);
        let text = replay(&copy)?;
        ensure!(text.contains("an operator requested it"), "{text}");
        ensure!(text.contains("the same: "), "{text}");
        let fields = ["-T", "fields", "-e", "eth.type", "-e", "frame.comment"];
        let tshark = Command::new("tshark")
            .arg("-r")
            .arg(&copy)
            .args(fields)
            .output()?;
        ensure!(tshark.status.success(), "{tshark:?}");
        let text = String::from_utf8(tshark.stdout)?;
        ensure!(text.lines().count() > 10, "few frames: {text}");
        ensure!(text.contains("WantToken"), "no command: {text}");
        ensure!(text.contains("StateChanged"), "no event: {text}");
    }
    Ok(())
}

fn a_daemon_keeps_only_its_newest_recordings() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let mut written = Vec::new();
    for _ in 0..FILES_MAX + 2 {
        // A daemon writes a new recording only if an input has come after the last recording.
        let run = ringctl(daemon, &["run", "--", "true"]).output()?;
        ensure!(run.status.success(), "{run:?}");
        written.push(dump(daemon, &[])?);
    }
    ensure!(recordings(daemon)? == written[2..], "{written:?}");
    Ok(())
}

/// A stalled owner loses its token, and its program loses the lock. When the owner continues, it writes a recording.
fn a_lost_lock_leaves_a_recording_that_repeats() -> Result<()> {
    let segment = Layout::new(3).addresses().bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let daemon = &ring.daemons[0];
    let mut holder = Client::connect(&daemon.control())?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    daemon.signal(Signal::SIGSTOP)?;
    let mut next = Client::connect(&ring.daemons[1].control())?;
    next.lock("next")?;
    next.expect("granted")?;
    daemon.signal(Signal::SIGCONT)?;
    let is_written = |line: &str| line.contains("wrote the last frames and events to");
    daemon.wait_for_line(WAIT_LIMIT, is_written)?;
    check_only_recording(daemon, "a program lost its lock")
}

/// Checks that the daemon has written one recording, and that a repetition of the recording has the same outputs.
fn check_only_recording(daemon: &Daemon, reason: &str) -> Result<()> {
    let recordings = recordings(daemon)?;
    let [recording] = &recordings[..] else {
        bail!("there is not one recording: {recordings:?}");
    };
    let name = recording.display().to_string();
    ensure!(name.ends_with(".first.pcapng"), "{name}");
    let text = replay(recording)?;
    ensure!(text.contains("the same: "), "{text}");
    ensure!(text.contains(reason), "{text}");
    Ok(())
}

fn a_panic_leaves_a_recording_that_repeats() -> Result<()> {
    let segment = Layout::new(2).addresses().bridge()?;
    let panicking = Binaries {
        ringd: program("examples/panicking_daemon"),
        ..binaries()
    };
    let mut ring = Ring::start(segment, 2, timing(), panicking)?;
    ring.wait_until_formed()?;
    let daemon = &mut ring.daemons[0];
    daemon.signal(Signal::SIGUSR1)?;
    let exit = daemon.wait_exit(WAIT_LIMIT)?;
    ensure!(exit.code() == Some(PANIC_CODE), "{exit}");
    let is_written = |line: &str| line.contains("wrote the last frames and events to");
    daemon.wait_for_line(WAIT_LIMIT, is_written)?;
    check_only_recording(daemon, "the daemon has a bug, and ends")
}
