//! `ringctl guard`: what is done under a token that is not the newest is refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fake::{Fake, LONG};
use crate::program::{RINGCTL, Running};
use ring_segment::limit::until;

tests! {
    an_older_token_is_refused_once_a_newer_one_was_seen,
    a_newer_one_waits_until_the_command_of_an_older_one_and_all_that_it_left_have_ended,
    without_a_token_or_with_a_file_that_is_something_else_nothing_is_run,
    it_finds_the_token_of_the_run_that_it_is_in,
    a_damaged_record_is_refused_until_it_is_to_be_repaired,
    what_others_have_put_in_the_way_is_neither_followed_nor_waited_for,
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

fn an_older_token_is_refused_once_a_newer_one_was_seen() {
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
    let (status, said) = late.end();
    assert_eq!(status.code(), Some(76));
    assert!(
        said.contains(&format!("the token {OLDER} is stale")),
        "{said}"
    );
    assert!(said.contains(NEWER), "{said}");
}

fn a_newer_one_waits_until_the_command_of_an_older_one_and_all_that_it_left_have_ended() {
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
    // Who waits for a lock is listed behind an arrow.
    let waits = |line: &str| line.contains("->") && line.split(' ').any(|word| word == pid);
    until("it waits", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(waits)
    });
    first.close_input();
    assert_eq!(second.line(), "works");
}

fn without_a_token_or_with_a_file_that_is_something_else_nothing_is_run() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let mut without = guard(&record, OLDER, &["true"]);
    assert_eq!(code(without.env_remove("RINGD_TOKEN")), Some(1));
    assert_eq!(code(&mut guard(&record, "7", &["true"])), Some(1));
    fs::write(&record, "my thesis").unwrap();
    assert_eq!(code(&mut guard(&record, OLDER, &["true"])), Some(1));
    assert_eq!(fs::read(&record).unwrap(), b"my thesis");
}

fn it_finds_the_token_of_the_run_that_it_is_in() {
    let fake = Fake::new();
    let record = fake.file("record");
    let line = format!("{RINGCTL} guard {} -- echo works", record.display());
    let mut run = Running::shell(&fake, &line);
    let mut client = fake.grant(LONG);
    client.unlocked();
    assert_eq!(run.line(), "works");
    assert!(fs::read_to_string(&record).unwrap().contains(OLDER));
}

fn a_damaged_record_is_refused_until_it_is_to_be_repaired() {
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
        let (status, said) = refused.end();
        assert_eq!(status.code(), Some(1));
        assert!(said.contains("--repair"), "{said}");
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
    let (status, said) = repair.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("was damaged"), "{said}");
    assert_eq!(code(&mut guard(&record, OLDER, &["true"])), Some(76));
}

fn what_others_have_put_in_the_way_is_neither_followed_nor_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("precious"), "data").unwrap();
    // The names that a process of a known number could choose.
    let line = "ln -s precious record.$$.new; exec \"$0\" guard record -- true";
    let mut command = Command::new("sh");
    command
        .args(["-c", line, RINGCTL])
        .current_dir(directory.path());
    assert_eq!(code(command.env("RINGD_TOKEN", NEWER)), Some(0));
    assert_eq!(fs::read(at("precious")).unwrap(), b"data");
    symlink(at("missing"), at("dangling")).unwrap();
    let (status, said) = Running::start(&mut guard(&at("dangling"), NEWER, &["true"])).end();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("symbolic link"), "{said}");
    assert!(!at("missing").exists());
}
