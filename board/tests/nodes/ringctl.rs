//! The output of `ringctl` for a node.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_board::database::{TransactionKind, Url};
use ring_segment::{Test, tests};

use super::test_ring::{DatabaseKind, TestRing};

/// The exit code of `ringctl` if the node has ended.
const GONE: i32 = 3;
/// The exit code of `ringctl` if the node is in no ring.
const NOT_IN_RING: i32 = 5;

pub(crate) fn tests() -> Vec<Test> {
    tests![
        ringctl_shows_a_node_as_a_page_and_in_its_exit_code,
        ringctl_watches_a_ring_lose_a_node_until_the_watched_node_ends,
        a_node_that_cannot_write_to_the_database_is_critical,
    ]
}

fn ringctl_shows_a_node_as_a_page_and_in_its_exit_code() -> Result<()> {
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    let output = ring.node(1).ringctl(&["status"])?;
    let page = String::from_utf8(output.stdout)?;
    ensure!(output.status.code() == Some(0), "{page}");
    let field = |name: &str| {
        let mut lines = page.lines().map(|line| line.trim().split_once(' '));
        let line = lines.find(|line| line.is_some_and(|(key, _)| key == name));
        line.flatten().map(|(_, value)| value.trim())
    };
    for (name, value) in [
        ("system", "board"),
        ("state", "MEMBER"),
        ("coordinator", "2"),
        ("successor", "2"),
        ("database", "up"),
        ("method", "ring"),
    ] {
        ensure!(field(name) == Some(value), "{name}: {page}");
    }
    ensure!(field("TOKEN").is_some(), "counters are shown: {page}");
    let refused = ring.node(1).ringctl(&["wait", "OWNER"])?;
    let why = String::from_utf8(refused.stderr)?;
    ensure!(
        why.contains("a node of board has no states to wait for"),
        "{why}"
    );

    // A node that is cut off has no neighbors.
    ring.set_link(1, "down")?;
    ring.wait(1, |status| status["health"] == "critical")?;
    let output = ring.node(1).ringctl(&["status", "-q"])?;
    ensure!(
        output.status.code() == Some(NOT_IN_RING) && output.stdout.is_empty(),
        "{output:?}"
    );
    Ok(())
}

fn ringctl_watches_a_ring_lose_a_node_until_the_watched_node_ends() -> Result<()> {
    let mut ring = TestRing::new(3, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    let mut command = Command::new(ring_segment::program("ringctl"));
    command.arg("--socket").arg(ring.node(3).control());
    command.arg("watch");
    let mut watch = (command.stdout(Stdio::piped()).stderr(Stdio::piped())).spawn()?;
    let lines = watch.stdout.take().context("it is piped")?;
    let mut answer = String::new();
    for line in BufReader::new(lines).lines() {
        let line = line?;
        // The first line shows the present state. The later lines are events.
        if answer.is_empty() {
            ring.node(2).kill()?;
        }
        if line.contains("removed node 2 from the ring") {
            ring.node(3).signal(Signal::SIGTERM)?;
        }
        answer.push_str(&line);
        answer.push('\n');
    }
    let output = watch.wait_with_output()?;
    for sentence in [
        "state MEMBER coordinator 3",
        "removed node 2 from the ring",
        "the ring has 2 members",
    ] {
        ensure!(answer.contains(sentence), "{sentence}: {answer}");
    }
    ensure!(
        output.status.code() == Some(GONE) && !answer.contains("the token is here"),
        "{answer}"
    );
    Ok(())
}

fn a_node_that_cannot_write_to_the_database_is_critical() -> Result<()> {
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &[("--database-timeout", "500ms")])?;
    ring.wait_for_ring(&[1, 2])?;
    let well = ring.node(1).ringctl(&["status", "--check"])?;
    ensure!(
        well.status.code() == Some(0) && well.stdout.starts_with(b"RINGD OK - "),
        "{well:?}"
    );
    let file = ring.list().with_file_name("board.db");
    let url: Url = format!("sqlite://{}", file.display()).parse()?;
    let mut other = url.open(Duration::from_secs(5))?;
    other.begin(TransactionKind::Write)?;
    for id in [1, 2] {
        ring.wait(id, |status| status["health"] == "critical")?;
        let check = ring.node(id).ringctl(&["status", "--check"])?;
        let line = String::from_utf8_lossy(&check.stdout).into_owned();
        ensure!(check.status.code() == Some(2), "{line}");
        ensure!(line.contains("the database cannot be used"), "{line}");
    }
    other.rollback()?;
    ring.wait_for_ring(&[1, 2])
}
