//! Completion of the names of locks in a shell.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Layout, Ring, Test, WAIT_LIMIT, binaries, tests};
use serde_json::json;

use super::{Marks, connect, text, wait_for_counts};
use crate::locks::{shared_ring, timing};

/// A person waits for the completion at most this long. This time includes the start of a shell.
const PATIENCE_MAX: Duration = Duration::from_secs(4);

pub(super) fn tests() -> Vec<Test> {
    let silent = tests![a_silent_daemon_completes_no_names_and_delays_no_shell];
    let mut tests = tests![
        a_shell_completes_the_names_of_locks,
        a_shell_completes_only_locks_that_it_can_release,
    ];
    // The test stops a daemon itself.
    tests.extend(silent.into_iter().map(Test::without_stalls));
    tests
}

/// Runs a bash script after the line of `ringctl --help` that prepares completion. In the script, `complete_line WORDS`
/// prints the completions of the last word. Returns the output.
fn bash(script: &str) -> Result<String> {
    let programs = Path::new(binaries().ringctl).parent();
    let programs = programs.context("the file is in a directory")?.display();
    let script = format!(
        "source <(RINGCTL_COMPLETE=bash ringctl)\ncomplete_line() {{\nCOMP_WORDS=(\"$@\") COMP_TYPE=9\n\
         COMP_CWORD=$(($# - 1))\n_clap_complete_ringctl ringctl \"${{!#}}\"\necho \"${{COMPREPLY[@]}}\"\n}}\n{script}"
    );
    let mut bash = Command::new("bash");
    // Like an interactive shell, the shell leads its process group.
    bash.process_group(0)
        .args(["-c", &script])
        .env("PATH", format!("{programs}:{}", std::env::var("PATH")?));
    let output = bash.output()?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn a_shell_completes_the_names_of_locks() -> Result<()> {
    let ring = shared_ring(2)?;
    let marks = Marks::new()?;
    let mut strange = connect(&ring.daemons[1])?;
    strange.send(&json!({"request": "named_lock", "name": "back$(touch"}))?;
    strange.expect("granted")?;
    let _here = marks.hold(&ring.daemons[0], "backup", &[])?;
    let _there = marks.hold(&ring.daemons[1], "backup-2", &[])?;
    let _waits = marks.start(&ring.daemons[1], "backup", &[], "true")?;
    let _index = marks.hold(&ring.daemons[1], "index", &["--shared"])?;
    let daemon = &ring.daemons[0];
    wait_for_counts(daemon, "backup", 1, 1)?;
    wait_for_counts(daemon, "index", 1, 0)?;
    let socket = daemon.control();
    let socket = text(&socket)?;
    for (words, expected) in [
        ("run --name ba", "backup backup-2"),
        ("run --name ''", "backup backup-2 index"),
        ("run --shared -w 3 --name i", "index"),
        ("lock --name backup", "backup backup-2"),
        ("run --name x", ""),
        ("unlock --name b", ""),
    ] {
        let found = bash(&format!("complete_line ringctl --socket {socket} {words}"))?;
        ensure!(found == expected, "{words}: {found:?}");
    }
    let found = bash(&format!(
        "complete_line ringctl run --socket={socket} --name ba"
    ))?;
    ensure!(found == "backup backup-2", "{found:?}");
    Ok(())
}

fn a_shell_completes_only_locks_that_it_can_release() -> Result<()> {
    let ring = shared_ring(2)?;
    let marks = Marks::new()?;
    let daemon = &ring.daemons[0];
    let _run = marks.hold(daemon, "a-run", &[])?;
    let _there = marks.hold(&ring.daemons[1], "a-there", &[])?;
    wait_for_counts(daemon, "a-there", 1, 0)?;
    let socket = daemon.control();
    let ringctl = format!("ringctl --socket {}", text(&socket)?);
    let own = std::process::id();
    let script = format!(
        "{ringctl} lock --name a-shell >/dev/null || exit\n\
         {ringctl} lock --name a-test --pid {own} >/dev/null || exit\n\
         complete_line {ringctl} unlock --name a\n\
         complete_line {ringctl} unlock --pid {own} --name a\n\
         {ringctl} unlock --pid {own} --name a-test || exit\n\
         complete_line {ringctl} unlock --pid {own} --name a"
    );
    let found = bash(&script)?;
    ensure!(found == "a-shell\na-test", "{found:?}");
    Ok(())
}

fn a_silent_daemon_completes_no_names_and_delays_no_shell() -> Result<()> {
    let segment = Layout::new(1).addresses().bridge()?;
    let mut ring = Ring::start(segment, 1, timing(), binaries())?;
    ring.wait_until_formed()?;
    let marks = Marks::new()?;
    let _held = marks.hold(&ring.daemons[0], "backup", &[])?;
    let socket = ring.daemons[0].control();
    let script = format!(
        "complete_line ringctl --socket {} run --name b",
        text(&socket)?
    );
    ensure!(bash(&script)? == "backup");
    ring.daemons[0].signal(Signal::SIGSTOP)?;
    let began = Instant::now();
    let found = bash(&script)?;
    ensure!(found.is_empty(), "{found:?}");
    ensure!(began.elapsed() < PATIENCE_MAX, "{:?}", began.elapsed());
    ring.daemons[0].signal(Signal::SIGCONT)?;
    ring.daemons[0].signal(Signal::SIGTERM)?;
    ring.daemons[0].wait_exit(WAIT_LIMIT)?;
    let found = bash(&script)?;
    ensure!(found.is_empty(), "{found:?}");
    Ok(())
}
