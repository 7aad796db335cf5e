//! The tables and their versions. Each node prepares the tables when it starts.

use std::collections::BTreeSet;

use super::value::large_number;
use super::{Fault, Session, TransactionKind, Value, transaction};
use crate::list::ListedNode;

/// The version of the tables that this program uses.
pub const VERSION: usize = MIGRATIONS.len();

/// The statements that change the tables of each version to the next version. `ASCENDING` stands for the declaration of
/// an id that the database generates. The declaration of such an id differs between databases. A statement leaves a
/// table unchanged if a table with this name already exists.
const MIGRATIONS: [&str; 1] = [include_str!("version_1.sql")];

const VERSION_TABLE: &str = "
CREATE TABLE IF NOT EXISTS board_schema (
    single_row_lock BOOLEAN PRIMARY KEY CHECK (single_row_lock), version BIGINT NOT NULL);
INSERT INTO board_schema VALUES (TRUE, 0) ON CONFLICT DO NOTHING;
";

/// The nodes of the list. The tables must contain one row for each of these nodes.
#[derive(Debug, Clone, Copy)]
pub struct ListedNodes<'a> {
    /// The node that prepares the tables.
    pub own: u32,
    /// The lines of the list.
    pub lines: &'a [ListedNode],
}

/// Creates missing tables, inserts missing rows of the list, and updates this node's row. With `drop`, this first
/// empties the topology and replaces all rows by the rows of the list.
///
/// # Errors
/// Returns a fault if the database cannot be used, contains the tables of a newer program, or contains the nodes of
/// another ring.
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
            "the tables have version {version}, but this ring-board supports only versions up to {VERSION}: start a \
             newer ring-board, or use another database"
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

/// Refuses a database if its rows belong to another ring. While a ring grows or shrinks, its old list and its new list
/// have nodes in common. Each of these nodes has the same address and port in all lists. The only exception is this
/// node, which may have moved.
fn check_ring(session: &mut dyn Session, nodes: &ListedNodes<'_>) -> Result<(), Fault> {
    let rows = session.query("SELECT id, address, port FROM nodes ORDER BY id", &[])?;
    let mut is_shared = rows.is_empty();
    for row in &rows {
        let (id, address, port) = (row.id(0)?, row.text(1)?, row.number(2)?);
        let is_at = |line: &ListedNode| {
            line.ring.ip().to_string() == address && i64::from(line.ring.port()) == port
        };
        let place = format!("{address} port {port}");
        let line = nodes.lines.iter().find(|line| line.id == id);
        is_shared |= line.is_some_and(is_at);
        if let Some(line) = line.filter(|line| !is_at(line) && id != nodes.own) {
            let listed = line.ring;
            return Err(other_ring_fault(&format!(
                "node {id} is at {place} in the database, but at {listed} in the list"
            )));
        }
        let other = nodes.lines.iter().find(|line| line.id != id && is_at(line));
        if let Some(other) = other {
            let listed = other.id;
            return Err(other_ring_fault(&format!(
                "node {id} is at {place} in the database, but node {listed} is at this address in the list"
            )));
        }
    }
    if is_shared {
        return Ok(());
    }
    let ids = rows.iter().map(|row| row.id(0).map(|id| id.to_string()));
    let ids = ids.collect::<Result<Vec<_>, _>>()?.join(", ");
    Err(other_ring_fault(&format!(
        "the database has the nodes {ids}, but the list has none of them at the same address"
    )))
}

fn other_ring_fault(difference: &str) -> Fault {
    Fault::Failed(format!(
        "the database belongs to a ring with another list: {difference}; give each ring a separate database, and give \
         all nodes of a ring the same list. If a node has moved, start this node first. If no node runs, start one \
         node with --drop to write its list into the database"
    ))
}

fn insert_missing_rows(session: &mut dyn Session, lines: &[ListedNode]) -> Result<(), Fault> {
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

fn values<'a>(line: &ListedNode, address: &'a str) -> [Value<'a>; 4] {
    [
        line.id.into(),
        address.into(),
        u32::from(line.ring.port()).into(),
        u32::from(line.http.port()).into(),
    ]
}
