//! The tables, their versions, and their preparation at a node's start.

use std::collections::BTreeSet;

use super::value::large_number;
use super::{Fault, Session, TransactionKind, Value, transaction};
use crate::list::Line;

/// The version of the tables that this program uses.
pub const VERSION: usize = MIGRATIONS.len();

/// The steps from each version to the next. `ASCENDING` stands for the declaration of a generated id, which differs
/// between databases. Existing tables of the same name stay.
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

const VERSION_TABLE: &str = "
CREATE TABLE IF NOT EXISTS board_schema (
    single_row_lock BOOLEAN PRIMARY KEY CHECK (single_row_lock), version BIGINT NOT NULL);
INSERT INTO board_schema VALUES (TRUE, 0) ON CONFLICT DO NOTHING;
";

/// The nodes of the list, whose rows the tables must have.
#[derive(Debug, Clone, Copy)]
pub struct ListedNodes<'a> {
    /// The node that prepares the tables.
    pub own: u32,
    /// The lines of the list.
    pub lines: &'a [Line],
}

/// Creates missing tables, inserts missing rows of the list, and updates this node's row. With `drop` it first empties
/// the topology, and the rows become those of the list.
///
/// # Errors
/// Returns a fault if the database cannot be used, has tables of a newer program, or has the nodes of another ring.
pub(super) fn prepare(
    session: &mut dyn Session,
    nodes: &ListedNodes<'_>,
    drop: bool,
) -> Result<(), Fault> {
    let done = transaction(session, TransactionKind::Schema, |session| {
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
        insert_missing_rows(session, nodes.lines)?;
        update_own_row(session, nodes)?;
        Ok(Some(()))
    });
    done.map(|_| ())
}

fn migrate(session: &mut dyn Session) -> Result<(), Fault> {
    session.define(VERSION_TABLE)?;
    let rows = session.query("SELECT version FROM board_schema", &[])?;
    let version = rows.first().map_or(Ok(0), |row| row.count(0))?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > VERSION {
        return Err(Fault::Failed(format!(
            "the tables have version {version}, and this ring-board knows up to {VERSION}: start a newer ring-board, or use another \
                         database"
        )));
    }
    let ascending_id_column = session.ascending_id_column();
    for migration in &MIGRATIONS[version..] {
        session.define(&migration.replace("ASCENDING", ascending_id_column))?;
    }
    if version < VERSION {
        session.execute(
            "UPDATE board_schema SET version = $1",
            &[large_number(VERSION as u64)?],
        )?;
    }
    Ok(())
}

/// Refuses a database whose rows belong to another ring. Lists of one ring have nodes in common while it grows or
/// shrinks, and each node has the same place in all of them. Only this node may have moved.
fn check_ring(session: &mut dyn Session, nodes: &ListedNodes<'_>) -> Result<(), Fault> {
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
            return Err(other_ring_fault(&format!(
                "the database has node {id} at {place}, and the list has it at {listed}"
            )));
        }
        let other = nodes.lines.iter().find(|line| line.id != id && is_at(line));
        if let Some(other) = other {
            let listed = other.id;
            return Err(other_ring_fault(&format!(
                "the database has node {id} at {place}, and the list has node {listed} there"
            )));
        }
    }
    if is_shared {
        return Ok(());
    }
    let ids = rows.iter().map(|row| row.id(0).map(|id| id.to_string()));
    let ids = ids.collect::<Result<Vec<_>, _>>()?.join(", ");
    Err(other_ring_fault(&format!(
        "the database has the nodes {ids}, and the list has none of them at the same place"
    )))
}

fn other_ring_fault(difference: &str) -> Fault {
    Fault::Failed(format!(
        "the database belongs to a ring with another list: {difference}; give each ring its own database, and all nodes of a ring \
                 the same list. A node that has moved starts first. If no other node runs, start one with --drop to take over its list"
    ))
}

fn insert_missing_rows(session: &mut dyn Session, lines: &[Line]) -> Result<(), Fault> {
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

fn update_own_row(session: &mut dyn Session, nodes: &ListedNodes<'_>) -> Result<(), Fault> {
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
