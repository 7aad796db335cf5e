//! `ringctl guard`: what is done under a token that is not the newest is refused.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::fake::{Fake, LONG};
use crate::program::{RINGCTL, Running};
use ring_segment::limit::until;

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

#[test]
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

#[test]
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
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(waits)
    });
    first.close_input();
    assert_eq!(second.line(), "works");
}

#[test]
fn without_a_token_or_with_a_file_that_is_something_else_nothing_is_run() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let mut without = guard(&record, OLDER, &["true"]);
    assert_eq!(code(without.env_remove("RINGD_TOKEN")), Some(1));
    assert_eq!(code(&mut guard(&record, "7", &["true"])), Some(1));
    std::fs::write(&record, "my thesis").unwrap();
    assert_eq!(code(&mut guard(&record, OLDER, &["true"])), Some(1));
    assert_eq!(std::fs::read(&record).unwrap(), b"my thesis");
}

#[test]
fn it_finds_the_token_of_the_run_that_it_is_in() {
    let fake = Fake::new();
    let record = fake.file("record");
    let line = format!("{RINGCTL} guard {} -- echo works", record.display());
    let mut run = Running::shell(&fake, &line);
    let mut client = fake.grant(LONG);
    client.unlocked();
    assert_eq!(run.line(), "works");
    assert!(std::fs::read_to_string(&record).unwrap().contains(OLDER));
}
