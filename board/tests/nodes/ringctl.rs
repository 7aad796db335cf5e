//! The output of `ringctl` for a node.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_board::database::{TransactionKind, Url};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::json;

use super::http::{raw, request};
use super::test_ring::{DatabaseKind, TestRing, binaries};

/// The exit code of `ringctl` if the node has ended.
const GONE: i32 = 3;
/// The exit code of `ringctl` if the node is in no ring.
const NOT_IN_RING: i32 = 5;

pub(crate) fn tests() -> Vec<Test> {
    tests![
        ringctl_shows_a_node_as_a_page_and_in_its_exit_code,
        ringctl_watches_a_ring_lose_a_node_until_the_watched_node_ends,
        a_node_that_cannot_write_to_the_database_is_critical,
        options_have_their_source_and_no_password_is_shown,
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

fn options_have_their_source_and_no_password_is_shown() -> Result<()> {
    let mut ring = TestRing::without_nodes(1, DatabaseKind::Sqlite)?;
    let file = ring.list().with_file_name("ringd.toml");
    let write = |database: &str| {
        let text = format!("[board]\nhold = '20ms'\ndatabase = '{database}'\n");
        fs::write(&file, text)
    };
    let database = format!("sqlite://{}", ring.database_file().display());
    write(&database)?;
    let node = ring.segment().node(0).ringd(binaries());
    let node = node
        .subcommand("--id=1")
        .without_state()
        .option("--nodes", ring.list())
        .option("--http", "127.0.0.1:8080")
        .option("--config", &file);
    // With a terminal, a hang-up would mean that the terminal was closed.
    ring.add(node.through(["setsid"]))?;
    ring.wait_for_ring(&[1])?;
    let config = ring.wait(1, |_| true)?["config"].take();
    ensure!(config["file"] == json!(file), "{config:#}");
    for (name, value) in [
        ("id", json!({"value": "1", "source": "command_line"})),
        (
            "hold",
            json!({"value": "20ms", "source": "file", "line": 2}),
        ),
        (
            "database",
            json!({"value": database, "source": "file", "line": 3}),
        ),
        ("liveness", json!({"value": "3s", "source": "default"})),
    ] {
        ensure!(config["options"][name] == value, "{name}: {config:#}");
    }
    let page = ring.node(1).ringctl(&["status"])?;
    let page = String::from_utf8(page.stdout)?;
    let line = format!("\n  hold 20ms ({}, line 2)\n", file.display());
    ensure!(page.contains(&line) && !page.contains("liveness"), "{page}");
    // Browsers of other machines may read this status.
    let answer = raw(&ring, 1, request("GET /ring", "", "").as_bytes())?;
    ensure!(answer.json()?["config"].is_null(), "{answer:?}");

    write("postgres://board:geheim@db/board")?;
    ring.node(1).signal(Signal::SIGHUP)?;
    let refused = |line: &str| line.contains("keeps its options") && line.contains("PGPASSFILE");
    ring.node(1).wait_for_line(WAIT_LIMIT, refused)?;
    let output = ring.node(1).output();
    ensure!(
        !output.iter().any(|line| line.contains("geheim")),
        "{output:#?}"
    );
    let options = &ring.wait(1, |_| true)?["config"]["options"];
    ensure!(options["database"]["value"] == database, "{options:#}");
    Ok(())
}
