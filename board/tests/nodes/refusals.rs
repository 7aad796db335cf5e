//! Errors at the start of a node.

use std::fs;

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::test_ring::{DatabaseKind, PORT, TestRing};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_failed_start_gives_the_cause,
        a_file_for_nodes_of_other_machines_is_warned_of,
    ]
}

fn a_failed_start_gives_the_cause() -> Result<()> {
    let ring = TestRing::without_nodes(1, DatabaseKind::Sqlite)?;
    let folder = ring.list();
    let folder = folder.parent().expect("it is in one");
    let lists = [
        ("double.csv", "1,10.77.0.1,7400,8080\n1,10.77.0.2,7400,8080"),
        ("other.csv", "1,10.99.0.1,7400,8080"),
        ("none.csv", ""),
    ];
    for (name, text) in lists {
        fs::write(folder.join(name), text)?;
    }
    let list = |name: &str| folder.join(name).display().to_string();
    let cases = [
        ("--id", "7".to_owned(), 2, "--id 7 is not in the list"),
        ("--nodes", list("absent.csv"), 2, "absent.csv"),
        ("--nodes", list("double.csv"), 2, "two nodes with id 1"),
        ("--nodes", list("none.csv"), 2, "has no nodes"),
        ("--nodes", list("other.csv"), 1, "not this machine's"),
        ("--poll", "0s".to_owned(), 2, "--poll must be longer"),
        (
            "--database",
            "sqlite:///proc/x/board.db".to_owned(),
            7,
            "--database",
        ),
        ("--database", "redis://x".to_owned(), 2, "use sqlite:///"),
        (
            "--http",
            "10.77.0.1:8080".to_owned(),
            2,
            "without a password",
        ),
        ("--http", "[::]:8080".to_owned(), 2, "--http 127.0.0.1:8080"),
        ("--http-password-file", list("absent"), 2, "make the file"),
        ("--http-password-file", list("other.csv"), 2, "chmod 600"),
        (
            "--database",
            "postgres://board:geheim@db/board".to_owned(),
            2,
            "PGPASSFILE",
        ),
    ];
    for (option, value, code, answer) in cases {
        let mut node = ring.options(1)?.option(option, &value).spawn()?;
        let end = node.wait_exit(WAIT_LIMIT)?;
        let text = node.wait_for_line(WAIT_LIMIT, |line| line.contains(answer))?;
        ensure!(end.code() == Some(code), "{option} {value}: {end}: {text}");
    }
    let ns = ring.segment().node(0).ns();
    let taken = ns.run(|| std::net::TcpListener::bind(("10.77.0.1", PORT)))??;
    let mut node = ring.options(1)?.spawn()?;
    let end = node.wait_exit(WAIT_LIMIT)?;
    node.wait_for_line(WAIT_LIMIT, |line| line.contains("another process uses it"))?;
    ensure!(end.code() == Some(1), "{end}");
    drop(taken);
    Ok(())
}

fn a_file_for_nodes_of_other_machines_is_warned_of() -> Result<()> {
    let warned = |line: &str| line.contains("node 2 is at an address that is not this machine's");
    for (kind, count, is_warned) in [
        (DatabaseKind::Sqlite, 2, true),
        (DatabaseKind::Sqlite, 1, false),
        (DatabaseKind::PostgreSql, 2, false),
    ] {
        let ring = TestRing::without_nodes(count, kind)?;
        let node = ring.options(1)?.spawn()?;
        // If the node has not logged the warning before this line, it will not log it.
        node.wait_for_line(WAIT_LIMIT, |line| line.contains("is the predecessor"))?;
        let output = node.output();
        ensure!(
            output.iter().any(|line| warned(line)) == is_warned,
            "{kind:?} of {count}: {output:#?}"
        );
    }
    Ok(())
}
