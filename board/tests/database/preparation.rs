//! What a node does with the tables at its start.

use anyhow::{Result, ensure};
use ring_board::database::{Nodes, VERSION, run};
use ring_board::posts::Desk;
use ring_proto::andrews::{Outcome, Rows, Seat, Work};

use crate::place::{Nobody, Place, lines, look, query, work};
use crate::{Test, named};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    named![
        the_tables_are_made_once_and_a_second_start_changes_nothing,
        tables_of_another_program_of_the_page_are_taken_as_they_are,
        a_start_brings_its_own_row_up_to_date_and_no_other,
        a_drop_empties_the_topology_and_keeps_the_token_and_posts,
        tables_of_a_newer_version_are_left_alone,
    ]
}

const PREPARE: Work = Work::Prepare { drop: false };

fn the_tables_are_made_once_and_a_second_start_changes_nothing(place: &Place) -> Result<()> {
    let mut session = place.open()?;
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

fn tables_of_another_program_of_the_page_are_taken_as_they_are(place: &Place) -> Result<()> {
    let mut session = place.prepared()?;
    session.define("DROP TABLE board_schema; UPDATE coordinator SET term = 3")?;
    ensure!(work(session.as_mut(), 1, &PREPARE)? == Outcome::Done);
    let rows = look(session.as_mut())?;
    ensure!(rows.seat == Seat { id: None, term: 3 }, "{rows:?}");
    Ok(())
}

fn a_start_brings_its_own_row_up_to_date_and_no_other(place: &Place) -> Result<()> {
    let mut session = place.prepared()?;
    let mut moved = lines();
    for line in moved.iter_mut().filter(|line| line.id == 2) {
        line.ring = "[2001:db8::7]:7500".parse()?;
        line.http.set_port(9000);
    }
    let desk = Desk::default();
    let around = ring_board::database::Around {
        desk: &desk,
        feed: &Nobody,
    };
    let nodes = Nodes {
        own: 2,
        lines: &moved,
    };
    ensure!(run(session.as_mut(), &nodes, around, &PREPARE)? == Outcome::Done);
    let rows = query(
        session.as_mut(),
        "SELECT address, port, http_port FROM nodes ORDER BY id",
    )?;
    for (place, row) in rows.iter().enumerate() {
        let said = (row.text(0)?, row.number(1)?, row.number(2)?);
        let expected = match place {
            1 => ("2001:db8::7".to_owned(), 7500, 9000),
            other => (format!("192.0.2.{}", other + 1), 7400, 8080),
        };
        ensure!(said == expected, "{said:?}");
    }
    Ok(())
}

fn a_drop_empties_the_topology_and_keeps_the_token_and_posts(place: &Place) -> Result<()> {
    let mut session = place.with_ring(&[1, 3, 2])?;
    session.define(
        "UPDATE token SET sequence = 99, holder = 3; UPDATE coordinator SET acting = TRUE; INSERT INTO messages \
         (author, text, node, sequence, time_ms) VALUES ('a', 'b', 3, 99, 1)",
    )?;
    ensure!(work(session.as_mut(), 2, &Work::Prepare { drop: true })? == Outcome::Done);
    let expected = Rows {
        nodes: (1..=5).collect(),
        seat: Seat { id: None, term: 8 },
        sequence: 99,
        ..Rows::default()
    };
    let rows = look(session.as_mut())?;
    ensure!(rows == expected, "{rows:?}");
    ensure!(query(session.as_mut(), "SELECT id FROM messages")?.len() == 1);
    Ok(())
}

fn tables_of_a_newer_version_are_left_alone(place: &Place) -> Result<()> {
    let mut session = place.with_ring(&[1, 2])?;
    session.define("UPDATE board_schema SET version = version + 1")?;
    let error = work(session.as_mut(), 1, &Work::Prepare { drop: true }).unwrap_err();
    ensure!(error.to_string().contains("run a newer one"), "{error}");
    let mut other = place.open()?;
    drop(session);
    ensure!(look(other.as_mut())?.members.len() == 2, "it was emptied");
    Ok(())
}
