//! A connection to a database, and transactions on it.

use thiserror::Error;

use super::{Row, Value};

/// Why a transaction has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// Nothing was written.
    #[error("{0}")]
    Failed(String),
    /// Whether it was committed does not follow from this.
    #[error("{0}; nobody knows whether the last transaction was committed")]
    Unknown(String),
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It reads several tables in one snapshot.
    Look,
    /// It writes. In SQLite nobody else does from its beginning on; in PostgreSQL its first statement takes the row that
    /// guards it.
    Write,
    /// It may change the tables themselves: no other of this kind goes on beside it.
    Schema,
}

/// A connection. Statements number their values from `$1`; the text of one never changes, so that it can be prepared
/// once.
pub trait Session: Send {
    /// Begins a transaction.
    ///
    /// # Errors
    /// The database is gone, or others keep it too long.
    fn begin(&mut self, kind: Kind) -> Result<(), Fault>;

    /// Runs a statement. Returns how many rows it has changed.
    ///
    /// # Errors
    /// The database is gone or refuses.
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault>;

    /// Runs a statement that returns rows.
    ///
    /// # Errors
    /// The database is gone or refuses.
    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault>;

    /// Runs statements that are the same for all nodes and take no values.
    ///
    /// # Errors
    /// The database is gone or refuses.
    fn define(&mut self, statements: &str) -> Result<(), Fault>;

    /// Commits the transaction.
    ///
    /// # Errors
    /// It was not committed, or nobody knows.
    fn commit(&mut self) -> Result<(), Fault>;

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// The database is gone.
    fn rollback(&mut self) -> Result<(), Fault>;

    /// How the column of a number is declared that the database gives out in ascending order.
    fn ascending(&self) -> &'static str;
}

/// Runs `work` as one transaction. If that returns `None` a guard has hit no row, and nothing is written. After a fault the
/// session is to be dropped: the database rolls back.
///
/// # Errors
/// What `work` or the database says.
pub fn transaction<T>(
    session: &mut dyn Session,
    kind: Kind,
    work: impl FnOnce(&mut dyn Session) -> Result<Option<T>, Fault>,
) -> Result<Option<T>, Fault> {
    session.begin(kind)?;
    let done = work(session)?;
    match done {
        Some(_) => session.commit()?,
        None => session.rollback()?,
    }
    Ok(done)
}
