//! A connection to a database, and its transactions.

use thiserror::Error;

use super::{Row, Value};

/// The reason why a transaction returned no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The transaction failed and had no effect.
    #[error("{0}")]
    Failed(String),
    /// An error occurred, and it is unknown whether the transaction was committed.
    #[error("{0}; it is unknown whether the last transaction was committed")]
    Unknown(String),
}

/// The purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionKind {
    /// Reads several tables as they were at one instant.
    Read,
    /// Writes. In SQLite, no other process can write after the beginning of the transaction. In PostgreSQL, the first
    /// statement of the transaction locks the row that guards the transaction.
    Write,
    /// Creates or alters tables. Two transactions of this kind never run at the same time.
    Schema,
}

/// A connection. Statements number their values from `$1`. The text of a statement never changes, so the database can
/// prepare it once.
pub trait Session: Send {
    /// Begins a transaction of this kind.
    ///
    /// # Errors
    /// Returns a fault if the database cannot be used, or if other writers keep it locked for too long.
    fn begin(&mut self, kind: TransactionKind) -> Result<(), Fault>;

    /// Runs a statement. Returns the number of rows that the statement changed.
    ///
    /// # Errors
    /// Returns a fault if the statement failed.
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault>;

    /// Runs a statement that returns rows.
    ///
    /// # Errors
    /// Returns a fault if the statement failed.
    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault>;

    /// Runs statements without values.
    ///
    /// # Errors
    /// Returns a fault if a statement failed.
    fn define(&mut self, statements: &str) -> Result<(), Fault>;

    /// Commits the transaction.
    ///
    /// # Errors
    /// Returns a fault if the transaction was not committed, or if it is unknown whether it was committed.
    fn commit(&mut self) -> Result<(), Fault>;

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// Returns a fault if the database cannot be used.
    fn rollback(&mut self) -> Result<(), Fault>;

    /// Returns the declaration of an id column whose values the database generates in ascending order.
    fn ascending_id_column(&self) -> &'static str;
}

/// Runs `work` in one transaction. `work` returns `None` if a guard matched no row. Then the database rolls the
/// transaction back. After a fault the caller must drop the session, so that the database rolls the transaction back.
///
/// # Errors
/// Returns the fault of `work` or of the database.
pub fn transaction<T>(
    session: &mut dyn Session,
    kind: TransactionKind,
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
