//! `ringctl guard` refuses work under a token that is not the newest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{RINGCTL, Running};
use ring_segment::limit::wait_until;

tests! {
    an_older_token_is_refused_after_a_newer_one,
    a_newer_token_waits_for_the_end_of_an_older_ones_processes,
    without_a_token_or_with_another_file_the_command_is_not_run,
    guard_uses_the_token_of_its_run,
    guard_uses_the_token_of_a_named_lock_of_its_run,
    a_damaged_record_is_refused_until_it_is_repaired,
    symbolic_links_of_others_are_not_followed,
}

const OLDER: &str = "1795-02:00:00:00:00:01-7";
const NEWER: &str = "1796-02:00:00:00:00:02-3";

fn guard(record: &Path, token: &str, command: &[&str]) -> Command {
    let mut guard = Command::new(RINGCTL);
    guard.arg("guard").arg(record).arg("--").args(command);
    guard.env("RINGD_TOKEN", token).stdin(Stdio::null());
    guard
}

fn code(command: &mut Command) -> Option<i32> {
    Running::start(command).code()
}

fn an_older_token_is_refused_after_a_newer_one() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    for token in [OLDER, OLDER, NEWER, NEWER] {
        assert_eq!(
            code(&mut guard(&record, token, &["sh", "-c", "exit 5"])),
            Some(5)
        );
    }
    let mut late = Running::start(&mut guard(&record, OLDER, &["echo", "runs"]));
    assert_eq!(late.rest(), "");
    let (status, stderr) = late.end();
    assert_eq!(status.code(), Some(76));
    assert!(
        stderr.contains(&format!("the token {OLDER} is stale")),
        "{stderr}"
    );
    assert!(stderr.contains(NEWER), "{stderr}");
}

fn a_newer_token_waits_for_the_end_of_an_older_ones_processes() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let mut first = guard(
        &record,
        OLDER,
        &[
            "sh",
            "-c",
            "exec 9<&0; echo works; cat <&9 >/dev/null 2>&1 &",
        ],
    );
    let mut first = Running::start(first.stdin(Stdio::piped()));
    assert_eq!(first.line(), "works");
    assert_eq!(first.code(), Some(0));
    let mut second = Running::start(&mut guard(&record, NEWER, &["echo", "works"]));
    let pid = second.pid().to_string();
    // The kernel lists a process that waits for a lock after an arrow.
    let waits = |line: &str| line.contains("->") && line.split(' ').any(|word| word == pid);
    wait_until("it waits", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(waits)
    });
    first.close_input();
    assert_eq!(second.line(), "works");
}

fn without_a_token_or_with_another_file_the_command_is_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let mut without = guard(&record, OLDER, &["true"]);
    assert_eq!(code(without.env_remove("RINGD_TOKEN")), Some(1));
    assert_eq!(code(&mut guard(&record, "7", &["true"])), Some(1));
    fs::write(&record, "my thesis").unwrap();
    assert_eq!(code(&mut guard(&record, OLDER, &["true"])), Some(1));
    assert_eq!(fs::read(&record).unwrap(), b"my thesis");
}

fn guard_uses_the_token_of_its_run() {
    let fake = FakeDaemon::new();
    let record = fake.file("record");
    let line = format!("{RINGCTL} guard {} -- echo works", record.display());
    let mut run = Running::shell(&fake, &line);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    client.wait_for_unlock();
    assert_eq!(run.line(), "works");
    assert!(fs::read_to_string(&record).unwrap().contains(OLDER));
}

fn guard_uses_the_token_of_a_named_lock_of_its_run() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let guard_of = |name: &str, locks: &str| {
        let mut guard = Command::new(RINGCTL);
        guard.args(["guard", "--name", name]).arg(&record);
        // An inner lock, or the token of the ring, has set this variable.
        guard.env("RINGD_TOKEN", "9999-02:00:00:00:00:09-9");
        guard.args(["--", "true"]).env("RINGD_LOCKS", locks);
        Running::start(guard.stdin(Stdio::null())).end()
    };
    let locks = format!("a={NEWER} b={OLDER}");
    assert_eq!(guard_of("a", &locks).0.code(), Some(0));
    assert!(fs::read_to_string(&record).unwrap().contains(NEWER));
    let (status, stderr) = guard_of("b", &locks);
    assert_eq!(status.code(), Some(76), "{stderr}");
    assert!(stderr.contains(OLDER), "{stderr}");
    let (status, stderr) = guard_of("c", &locks);
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("ringctl run --name c"), "{stderr}");
    assert_eq!(guard_of("a", "a=7").0.code(), Some(1));
    let mut both = Command::new(RINGCTL);
    both.args(["guard", "--name", "a", "--token", NEWER]);
    assert_eq!(code(both.arg(&record).args(["--", "true"])), Some(2));
}

fn a_damaged_record_is_refused_until_it_is_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    for token in [OLDER, NEWER] {
        assert_eq!(code(&mut guard(&record, token, &["true"])), Some(0));
    }
    let damaged = fs::read_to_string(&record)
        .unwrap()
        .replace("1796-", "1797-");
    for damaged in [damaged.as_str(), ""] {
        fs::write(&record, damaged).unwrap();
        let mut refused = Running::start(&mut guard(&record, OLDER, &["echo", "runs"]));
        assert_eq!(refused.rest(), "");
        let (status, stderr) = refused.end();
        assert_eq!(status.code(), Some(1));
        assert!(stderr.contains("--repair"), "{stderr}");
        assert_eq!(fs::read_to_string(&record).unwrap(), damaged);
    }
    let repair = ["guard", "--repair"];
    let mut repair = Running::start(
        Command::new(RINGCTL)
            .args(repair)
            .arg(&record)
            .args(["--", "true"])
            .env("RINGD_TOKEN", NEWER),
    );
    let (status, stderr) = repair.end();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("was damaged"), "{stderr}");
    assert_eq!(code(&mut guard(&record, OLDER, &["true"])), Some(76));
}

fn symbolic_links_of_others_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("precious"), "data").unwrap();
    // If `ringctl` derived the name of its temporary file from its process number, the file would have the name of this
    // link.
    let line = "ln -s precious record.$$.new; exec \"$0\" guard record -- true";
    let mut command = Command::new("sh");
    command
        .args(["-c", line, RINGCTL])
        .current_dir(directory.path());
    assert_eq!(code(command.env("RINGD_TOKEN", NEWER)), Some(0));
    assert_eq!(fs::read(at("precious")).unwrap(), b"data");
    symlink(at("missing"), at("dangling")).unwrap();
    let (status, stderr) = Running::start(&mut guard(&at("dangling"), NEWER, &["true"])).end();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("symbolic link"), "{stderr}");
    assert!(!at("missing").exists());
}
