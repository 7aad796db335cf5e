//! SQLite: a file of this machine, in this process.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Params, Statement, ToSql, params_from_iter};

use super::value::Cell;
use super::{Fault, Kind, Row, Session, Value};

/// How many times longer than the machine's own patience a writer waits for the others.
const BUSY: u32 = 2;
/// Between two tries of what SQLite does not wait for itself.
const AGAIN: Duration = Duration::from_millis(5);
/// Statements that stay prepared: more than there are.
const PREPARED: usize = 64;

/// A connection to a file.
#[derive(Debug)]
pub(super) struct Sqlite(Connection);

impl Sqlite {
    /// Opens a file, and makes it if there is none.
    pub(super) fn open(path: &Path, timeout: Duration) -> Result<Self, Fault> {
        let connection = Connection::open(path).map_err(|error| failed(&error))?;
        connection
            .busy_timeout(timeout.saturating_mul(BUSY))
            .and_then(|()| log_ahead(&connection, timeout.saturating_mul(BUSY)))
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

/// Has the file written ahead. Of several that do so at the same time to a new file SQLite refuses all but one at
/// once, however long they would wait for a lock: each would wait for the others.
fn log_ahead(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let give_up = Instant::now() + patience;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && Instant::now() < give_up => thread::sleep(AGAIN),
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::Sqlite;

    #[test]
    fn a_new_file_is_opened_by_many_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for round in 0..20 {
            let path = folder.path().join(format!("board-{round}.db"));
            let together = Barrier::new(6);
            let open = || {
                together.wait();
                Sqlite::open(&path, Duration::from_secs(30)).map(drop)
            };
            thread::scope(|scope| {
                let all: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
                for one in all {
                    let opened = one.join().expect("it does not panic");
                    assert!(opened.is_ok(), "{opened:?}");
                }
            });
        }
    }
}
