//! The tables, their versions, and what a node does with them at its start.

use std::collections::BTreeSet;

use super::value::large;
use super::{Fault, Kind, Session, Value, transaction};
use crate::list::Line;

/// The version of the tables that this program knows.
pub const VERSION: usize = MIGRATIONS.len();

/// What leads from each version to the next, from none at all. `ASCENDING` stands for how the database declares a number
/// that it gives out itself. What is there already, of the same name, stays.
const MIGRATIONS: [&str; 1] = ["
CREATE TABLE IF NOT EXISTS nodes (
    id BIGINT PRIMARY KEY, address TEXT NOT NULL, port INT NOT NULL, http_port INT NOT NULL,
    successor BIGINT NULL REFERENCES nodes (id), UNIQUE (successor));
CREATE TABLE IF NOT EXISTS coordinator (
    single_row_lock BOOLEAN PRIMARY KEY CHECK (single_row_lock), id BIGINT NULL REFERENCES nodes (id),
    term BIGINT NOT NULL, acting BOOLEAN NOT NULL, beat BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS token (
    single_row_lock BOOLEAN PRIMARY KEY CHECK (single_row_lock), sequence BIGINT NOT NULL, holder BIGINT NULL);
CREATE TABLE IF NOT EXISTS messages (
    id ASCENDING, author TEXT NOT NULL, text TEXT NOT NULL, node BIGINT NOT NULL, sequence BIGINT NOT NULL,
    time_ms BIGINT NOT NULL, key TEXT NULL UNIQUE);
INSERT INTO coordinator VALUES (TRUE, NULL, 0, FALSE, 0) ON CONFLICT DO NOTHING;
INSERT INTO token VALUES (TRUE, 0, NULL) ON CONFLICT DO NOTHING;
"];

const VERSIONS: &str = "
CREATE TABLE IF NOT EXISTS board_schema (
    single_row_lock BOOLEAN PRIMARY KEY CHECK (single_row_lock), version BIGINT NOT NULL);
INSERT INTO board_schema VALUES (TRUE, 0) ON CONFLICT DO NOTHING;
";

/// The nodes, as the tables are to have them.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    /// The node that asks.
    pub own: u32,
    /// The list.
    pub lines: &'a [Line],
}

/// Creates what is absent, inserts the list's absent rows and brings the own row up to date. If asked to `drop` the topology it
/// is emptied first, and the rows become those of the list.
///
/// # Errors
/// The database is gone or refuses, is a newer program's, or has the nodes of another ring.
pub(super) fn prepare(
    session: &mut dyn Session,
    nodes: &Nodes<'_>,
    drop: bool,
) -> Result<(), Fault> {
    let done = transaction(session, Kind::Schema, |session| {
        migrate(session)?;
        if drop {
            session.execute(
                "UPDATE coordinator SET id = NULL, term = term + 1, acting = FALSE",
                &[],
            )?;
            session.execute("UPDATE nodes SET successor = NULL", &[])?;
            session.execute("DELETE FROM nodes", &[])?;
        } else {
            check_ring(session, nodes)?;
        }
        insert_absent(session, nodes.lines)?;
        bring_up_to_date(session, nodes)?;
        Ok(Some(()))
    });
    done.map(|_| ())
}

fn migrate(session: &mut dyn Session) -> Result<(), Fault> {
    session.define(VERSIONS)?;
    let rows = session.query("SELECT version FROM board_schema", &[])?;
    let version = rows.first().map_or(Ok(0), |row| row.count(0))?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > VERSION {
        return Err(Fault::Failed(format!(
            "the tables are of version {version}, and this ring-board knows up to {VERSION}: run a newer one, or use another \
             database"
        )));
    }
    let ascending = session.ascending();
    for migration in &MIGRATIONS[version..] {
        session.define(&migration.replace("ASCENDING", ascending))?;
    }
    if version < VERSION {
        session.execute(
            "UPDATE board_schema SET version = $1",
            &[large(VERSION as u64)?],
        )?;
    }
    Ok(())
}

/// Refuses a database whose rows are another ring's. Lists of one ring have nodes in common while one of them grows or shrinks,
/// and each node has one place in all of them, but for this one, which may have moved.
fn check_ring(session: &mut dyn Session, nodes: &Nodes<'_>) -> Result<(), Fault> {
    let rows = session.query("SELECT id, address, port FROM nodes ORDER BY id", &[])?;
    let mut is_shared = rows.is_empty();
    for row in &rows {
        let (id, address, port) = (row.id(0)?, row.text(1)?, row.number(2)?);
        let is_at = |line: &Line| {
            line.ring.ip().to_string() == address && i64::from(line.ring.port()) == port
        };
        let place = format!("{address} port {port}");
        let line = nodes.lines.iter().find(|line| line.id == id);
        is_shared |= line.is_some_and(is_at);
        if let Some(line) = line.filter(|line| !is_at(line) && id != nodes.own) {
            let listed = line.ring;
            return Err(other_ring(&format!(
                "it has node {id} at {place}, and the list has it at {listed}"
            )));
        }
        let other = nodes.lines.iter().find(|line| line.id != id && is_at(line));
        if let Some(other) = other {
            let listed = other.id;
            return Err(other_ring(&format!(
                "{place} is node {id} there, and node {listed} in the list"
            )));
        }
    }
    if is_shared {
        return Ok(());
    }
    let ids = rows.iter().map(|row| row.id(0).map(|id| id.to_string()));
    let ids = ids.collect::<Result<Vec<_>, _>>()?.join(", ");
    Err(other_ring(&format!(
        "it has the nodes {ids}, and the list has none of them at the same place"
    )))
}

fn other_ring(difference: &str) -> Fault {
    Fault::Failed(format!(
        "the database belongs to a ring with another list: {difference}; give this ring a database of its own, or all nodes one \
         list. A node that has moved starts first. If no other node runs, start one with --drop: the list is then the database's"
    ))
}

fn insert_absent(session: &mut dyn Session, lines: &[Line]) -> Result<(), Fault> {
    let known = session.query("SELECT id FROM nodes", &[])?;
    let known: BTreeSet<u32> = known
        .iter()
        .map(|row| row.id(0))
        .collect::<Result<_, _>>()?;
    for line in lines.iter().filter(|line| !known.contains(&line.id)) {
        let address = line.ring.ip().to_string();
        session.execute(
            "INSERT INTO nodes (id, address, port, http_port) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            &values(line, &address),
        )?;
    }
    Ok(())
}

fn bring_up_to_date(session: &mut dyn Session, nodes: &Nodes<'_>) -> Result<(), Fault> {
    for line in nodes.lines.iter().filter(|line| line.id == nodes.own) {
        let address = line.ring.ip().to_string();
        session.execute(
            "UPDATE nodes SET address = $2, port = $3, http_port = $4 WHERE id = $1",
            &values(line, &address),
        )?;
    }
    Ok(())
}

fn values<'a>(line: &Line, address: &'a str) -> [Value<'a>; 4] {
    [
        line.id.into(),
        address.into(),
        u32::from(line.ring.port()).into(),
        u32::from(line.http.port()).into(),
    ]
}
