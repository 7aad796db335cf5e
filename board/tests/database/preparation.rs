//! Tests of the preparation of the tables when a node starts.

use anyhow::{Result, ensure};
use ring_board::database::{ListedNodes, VERSION, run};
use ring_board::posts::PendingRequests;
use ring_proto::andrews::{CoordinatorRow, Outcome, Rows, Work};

use crate::test_database::{NoListeners, TestDatabase, lines, look, query, work};
use crate::{Test, test_list};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![
        the_tables_are_made_once_and_a_second_start_changes_nothing,
        tables_of_another_program_of_the_page_are_taken_as_they_are,
        a_start_brings_its_own_row_up_to_date_and_no_other,
        a_drop_empties_the_topology_and_keeps_the_token_and_posts,
        tables_of_a_newer_version_are_left_alone,
    ]
}

const PREPARE: Work = Work::Prepare { drop: false };

fn the_tables_are_made_once_and_a_second_start_changes_nothing(
    database: &TestDatabase,
) -> Result<()> {
    let mut session = database.open()?;
    for _ in 0..2 {
        ensure!(work(session.as_mut(), 1, &PREPARE)? == Outcome::Done);
        let expected = Rows {
            nodes: (1..=5).collect(),
            ..Rows::default()
        };
        ensure!(look(session.as_mut())? == expected);
        let nodes = query(session.as_mut(), "SELECT id FROM nodes")?;
        ensure!(nodes.len() == lines().len(), "{nodes:?}");
    }
    let version = query(session.as_mut(), "SELECT version FROM board_schema")?;
    ensure!(
        version[0].number(0)? == i64::try_from(VERSION)?,
        "{version:?}"
    );
    Ok(())
}

fn tables_of_another_program_of_the_page_are_taken_as_they_are(
    database: &TestDatabase,
) -> Result<()> {
    let mut session = database.open_prepared()?;
    session.define("DROP TABLE board_schema; UPDATE coordinator SET term = 3")?;
    ensure!(work(session.as_mut(), 1, &PREPARE)? == Outcome::Done);
    let rows = look(session.as_mut())?;
    ensure!(
        rows.seat == CoordinatorRow { id: None, term: 3 },
        "{rows:?}"
    );
    Ok(())
}

fn a_start_brings_its_own_row_up_to_date_and_no_other(database: &TestDatabase) -> Result<()> {
    let mut session = database.open_prepared()?;
    let mut moved = lines();
    for line in moved.iter_mut().filter(|line| line.id == 2) {
        line.ring = "[2001:db8::7]:7500".parse()?;
        line.http.set_port(9000);
    }
    let pending = PendingRequests::default();
    let context = ring_board::database::VisitContext {
        pending: &pending,
        feed: &NoListeners,
    };
    let nodes = ListedNodes {
        own: 2,
        lines: &moved,
    };
    ensure!(run(session.as_mut(), &nodes, context, &PREPARE)? == Outcome::Done);
    let rows = query(
        session.as_mut(),
        "SELECT address, port, http_port FROM nodes ORDER BY id",
    )?;
    for (database, row) in rows.iter().enumerate() {
        let row_values = (row.text(0)?, row.number(1)?, row.number(2)?);
        let expected = match database {
            1 => ("2001:db8::7".to_owned(), 7500, 9000),
            other => (format!("192.0.2.{}", other + 1), 7400, 8080),
        };
        ensure!(row_values == expected, "{row_values:?}");
    }
    Ok(())
}

fn a_drop_empties_the_topology_and_keeps_the_token_and_posts(
    database: &TestDatabase,
) -> Result<()> {
    let mut session = database.with_ring(&[1, 3, 2])?;
    session.define(
        "UPDATE token SET sequence = 99, holder = 3; UPDATE coordinator SET acting = TRUE; INSERT INTO messages \
         (author, text, node, sequence, time_ms) VALUES ('a', 'b', 3, 99, 1)",
    )?;
    ensure!(work(session.as_mut(), 2, &Work::Prepare { drop: true })? == Outcome::Done);
    let expected = Rows {
        nodes: (1..=5).collect(),
        seat: CoordinatorRow { id: None, term: 8 },
        sequence: 99,
        ..Rows::default()
    };
    let rows = look(session.as_mut())?;
    ensure!(rows == expected, "{rows:?}");
    ensure!(query(session.as_mut(), "SELECT id FROM messages")?.len() == 1);
    Ok(())
}

fn tables_of_a_newer_version_are_left_alone(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2])?;
    session.define("UPDATE board_schema SET version = version + 1")?;
    let error = work(session.as_mut(), 1, &Work::Prepare { drop: true }).unwrap_err();
    ensure!(
        error.to_string().contains("start a newer ring-board"),
        "{error}"
    );
    let mut other = database.open()?;
    drop(session);
    ensure!(look(other.as_mut())?.members.len() == 2, "it was emptied");
    Ok(())
}
