//! SQLite: the database is a file of this machine, and SQLite runs within this process.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Params, Statement, ToSql, params_from_iter};

use super::value::Cell;
use super::{Fault, Row, Session, TransactionKind, Value};

/// The maximum time that a writer waits for other writers, as a multiple of --database-timeout.
const BUSY_TIMEOUT_FACTOR: u32 = 2;
/// The pause between two attempts to switch a file to write-ahead logging. SQLite itself does not wait for other
/// processes that switch the same file.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// The number of statements that SQLite keeps prepared. The program has fewer statements than this number.
const PREPARED_STATEMENTS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Sqlite(Connection);

impl Sqlite {
    /// Opens a file, and creates it if it does not exist.
    pub(super) fn open(path: &Path, timeout: Duration) -> Result<Self, Fault> {
        let connection = Connection::open(path).map_err(|error| as_fault(&error))?;
        connection
            .busy_timeout(timeout.saturating_mul(BUSY_TIMEOUT_FACTOR))
            .and_then(|()| {
                enable_write_ahead_log(&connection, timeout.saturating_mul(BUSY_TIMEOUT_FACTOR))
            })
            // An acknowledged post must survive a loss of power.
            .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
            .and_then(|()| connection.pragma_update(None, "foreign_keys", true))
            .map_err(|error| as_fault(&error))?;
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS_MAX);
        Ok(Self(connection))
    }

    fn run_prepared<T>(
        &mut self,
        statement: &str,
        run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        // For SQLite, `$1` is the name of a value, and `?1` is its number.
        let statement = statement.replace('$', "?");
        let prepared = self.0.prepare_cached(&statement);
        let done = prepared.and_then(|mut prepared| run(&mut prepared));
        done.map_err(|error| as_fault(&error))
    }
}

/// Switches the file to write-ahead logging. If several processes waited to switch the same new file, each process
/// would wait for the other processes. So SQLite immediately refuses all processes except the first process, and the
/// refused processes try again.
fn enable_write_ahead_log(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    let give_up = Instant::now() + timeout;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && Instant::now() < give_up => {
                thread::sleep(RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn as_fault(error: &rusqlite::Error) -> Fault {
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
    fn begin(&mut self, kind: TransactionKind) -> Result<(), Fault> {
        self.define(match kind {
            TransactionKind::Read => "BEGIN",
            TransactionKind::Write | TransactionKind::Schema => "BEGIN IMMEDIATE",
        })
    }

    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let changed = self.run_prepared(statement, |it| it.execute(params_from_iter(values)))?;
        Ok(changed as u64)
    }

    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.run_prepared(statement, |it| rows(it, params_from_iter(values)))
    }

    fn define(&mut self, statements: &str) -> Result<(), Fault> {
        let done = self.0.execute_batch(statements);
        done.map_err(|error| as_fault(&error))
    }

    fn commit(&mut self) -> Result<(), Fault> {
        let done = self.0.execute_batch("COMMIT");
        done.map_err(|error| {
            // If SQLite has not ended the transaction, the transaction ends with the connection.
            if self.0.is_autocommit() {
                Fault::Unknown(error.to_string())
            } else {
                as_fault(&error)
            }
        })
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.define("ROLLBACK")
    }

    fn ascending_id_column(&self) -> &'static str {
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
    fn many_processes_can_open_a_new_file_at_once() {
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
