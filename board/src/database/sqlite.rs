//! SQLite: a file of this machine, in this process.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Statement, ToSql, params_from_iter};

use super::value::Cell;
use super::{Fault, Kind, Row, Session, Value};

/// How many times longer than the machine's own patience a writer waits for the others.
const BUSY: u32 = 2;
/// Statements that stay prepared: more than there are.
const PREPARED: usize = 64;

/// A connection to a file.
#[derive(Debug)]
pub struct Sqlite(Connection);

impl Sqlite {
    /// Opens a file, and makes it if there is none.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(path: &Path, timeout: Duration) -> Result<Self, Fault> {
        let connection = Connection::open(path).map_err(|error| failed(&error))?;
        connection
            .busy_timeout(timeout.saturating_mul(BUSY))
            .and_then(|()| connection.pragma_update(None, "journal_mode", "WAL"))
            // What was acknowledged is there after a loss of power, too.
            .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
            .and_then(|()| connection.pragma_update(None, "foreign_keys", true))
            .map_err(|error| failed(&error))?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        Ok(Self(connection))
    }

    fn prepared<T>(
        &mut self,
        statement: &str,
        run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        // SQLite takes `$1` for a name, and `?1` for a number.
        let statement = statement.replace('$', "?");
        let prepared = self.0.prepare_cached(&statement);
        let done = prepared.and_then(|mut prepared| run(&mut prepared));
        done.map_err(|error| failed(&error))
    }
}

fn failed(error: &rusqlite::Error) -> Fault {
    Fault::Failed(error.to_string())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Truth(truth) => ValueRef::Integer((*truth).into()),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn rows(statement: &mut Statement<'_>, values: impl Params) -> rusqlite::Result<Vec<Row>> {
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cells = (0..columns).map(|column| cell(row, column));
        cells.collect::<rusqlite::Result<_>>().map(Row)
    };
    statement.query_map(values, row)?.collect()
}

fn cell(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Cell> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number),
        _ => Cell::Text(row.get(column)?),
    })
}

impl Session for Sqlite {
    fn begin(&mut self, kind: Kind) -> Result<(), Fault> {
        self.define(match kind {
            Kind::Look => "BEGIN",
            Kind::Write | Kind::Schema => "BEGIN IMMEDIATE",
        })
    }

    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let changed = self.prepared(statement, |it| it.execute(params_from_iter(values)))?;
        Ok(changed as u64)
    }

    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.prepared(statement, |it| rows(it, params_from_iter(values)))
    }

    fn define(&mut self, statements: &str) -> Result<(), Fault> {
        let done = self.0.execute_batch(statements);
        done.map_err(|error| failed(&error))
    }

    fn commit(&mut self) -> Result<(), Fault> {
        let done = self.0.execute_batch("COMMIT");
        done.map_err(|error| {
            // Still in its transaction: that ends with the connection.
            if self.0.is_autocommit() {
                Fault::Unknown(error.to_string())
            } else {
                failed(&error)
            }
        })
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.define("ROLLBACK")
    }

    fn ascending(&self) -> &'static str {
        "INTEGER PRIMARY KEY AUTOINCREMENT"
    }
}
