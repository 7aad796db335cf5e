//! Key files that a daemon refuses, at its start and at a reload.

use std::os::unix::fs::chown;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    KeyFiles, Segment, Test, Timing, WAIT_LIMIT, binaries, key_line, reload_keys, tests,
};

/// The exit code of wrong usage.
const USAGE_CODE: i32 = 2;
/// An ordinary user.
const NOBODY: u32 = 65534;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_key_file_that_cannot_be_used_is_refused_with_a_remedy,
        a_wrong_key_file_changes_nothing_when_it_is_read_again,
    ]
}

fn a_key_file_that_cannot_be_used_is_refused_with_a_remedy() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let files = KeyFiles::new("ring")?;
    let check = |words: &[&str]| -> Result<()> {
        let ringd = segment.node(0).ringd(binaries());
        let mut daemon = ringd.option("--key-file", files.keys()).spawn()?;
        let status = daemon.wait_exit(WAIT_LIMIT)?;
        ensure!(status.code() == Some(USAGE_CODE), "{status}");
        let says = |line: &str| words.iter().all(|word| line.contains(word));
        let line = daemon.wait_for_line(WAIT_LIMIT, says)?;
        ensure!(!line.contains(&"01".repeat(8)), "a secret is shown: {line}");
        Ok(())
    };
    check(&["cannot use the key file", "make the file"])?;
    files.write_key_file(&key_line(1), 0o640)?;
    check(&["(mode 0640)", "chmod 600"])?;
    files.write_key_file(&format!("{}1 {}", key_line(2), "01".repeat(31)), 0o600)?;
    check(&["line 2", "ringd keygen"])?;
    files.write_keys(&[1])?;
    chown(files.keys(), Some(NOBODY), None)?;
    check(&["it belongs to user 65534", "chown 0"])?;
    chown(files.keys(), Some(0), None)?;
    let ringd = segment.node(0).ringd(binaries());
    let mut daemon = ringd.flag("--accept-unsigned").spawn()?;
    let status = daemon.wait_exit(WAIT_LIMIT)?;
    ensure!(status.code() == Some(USAGE_CODE), "{status}");
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("needs --key-file"))?;
    Ok(())
}

fn a_wrong_key_file_changes_nothing_when_it_is_read_again() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let files = KeyFiles::with_keys("ring", &[1])?;
    let timing = Timing::tolerant(std::time::Duration::from_millis(100));
    let ringd = segment.node(0).ringd(binaries()).timing(&timing);
    let daemon = files.add_to(ringd).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("signs with key 1"))?;
    files.write_key_file("1 short\n", 0o600)?;
    files.write_config("verbose = true\n")?;
    daemon.signal(Signal::SIGHUP)?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("keeps its options and its keys") && line.contains("line 1")
    })?;
    let status = daemon.status()?;
    ensure!(
        status["trust"]["keys"] == serde_json::json!([1]),
        "{status:#}"
    );
    let verbose = &status["config"]["options"]["verbose"]["value"];
    ensure!(
        verbose == "false",
        "half of the reload is in force: {verbose}"
    );
    files.write_keys(&[2, 1])?;
    reload_keys(&daemon, &[2, 1], false)?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("signs with key 2"))?;
    ensure!(
        !daemon
            .output()
            .iter()
            .any(|line| line.contains("0101010101")),
        "the log shows a key"
    );
    Ok(())
}
