//! PostgreSQL: a server, for nodes on several machines.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use bytes::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use super::value::Cell;
use super::{Fault, Kind, Row, Session, Value};

/// How many times longer than the machine's own patience a statement may take, and a transaction rest in which this
/// process was stopped: the server ends it then, and others go on.
const PATIENCE: u32 = 4;
/// The number of the lock that one takes who may change the tables: "ringboard" in a number.
const SCHEMA_LOCK: i64 = 0x7269_6e67_626f_6172;

/// A connection to a server.
pub struct PostgreSql {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl PostgreSql {
    /// Connects to a server.
    ///
    /// # Errors
    /// It is not there, or lets nobody in.
    pub fn connect(config: &Config, timeout: Duration) -> Result<Self, Fault> {
        let patience = timeout.saturating_mul(PATIENCE);
        let mut config = config.clone();
        config.connect_timeout(timeout).tcp_user_timeout(patience);
        if config.get_application_name().is_none() {
            config.application_name("ring-board");
        }
        let client = config.connect(NoTls).map_err(|error| failed(&error))?;
        let mut session = Self {
            client,
            prepared: HashMap::new(),
        };
        // None is 0, which would be for ever.
        let millis = patience.as_millis().clamp(1, i32::MAX as u128);
        session.define(&format!(
            "SET statement_timeout = {millis}; SET idle_in_transaction_session_timeout = {millis}"
        ))?;
        Ok(session)
    }

    fn statement(&mut self, text: &'static str) -> Result<Statement, Fault> {
        if let Some(known) = self.prepared.get(text) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(text);
        let statement = statement.map_err(|error| failed(&error))?;
        self.prepared.insert(text, statement.clone());
        Ok(statement)
    }
}

/// All that an error says: its own words are few.
fn said(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

fn failed(error: &postgres::Error) -> Fault {
    Fault::Failed(said(error))
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, ty) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Number(number), &Type::INT4) => i32::try_from(*number)?.to_sql(ty, out),
            (Self::Number(number), _) => number.to_sql(ty, out),
            (Self::Truth(truth), _) => truth.to_sql(ty, out),
            (Self::Text(text), _) => text.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        matches!(
            *ty,
            Type::INT4 | Type::INT8 | Type::BOOL | Type::TEXT | Type::VARCHAR
        )
    }

    to_sql_checked!();
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|it| it as &(dyn ToSql + Sync)).collect()
}

fn cell(row: &postgres::Row, column: usize) -> Result<Cell, postgres::Error> {
    let number = match *row.columns()[column].type_() {
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(i64::from),
        Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(i64::from),
        Type::INT8 => row.try_get(column)?,
        _ => {
            let text: Option<String> = row.try_get(column)?;
            return Ok(text.map_or(Cell::Null, Cell::Text));
        }
    };
    Ok(number.map_or(Cell::Null, Cell::Number))
}

impl Session for PostgreSql {
    fn begin(&mut self, kind: Kind) -> Result<(), Fault> {
        match kind {
            // Two selects of READ COMMITTED are no snapshot.
            Kind::Look => self.define("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
            Kind::Write => self.define("BEGIN ISOLATION LEVEL READ COMMITTED"),
            Kind::Schema => self.define(&format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"
            )),
        }
    }

    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let statement = self.statement(statement)?;
        let done = self.client.execute(&statement, &parameters(values));
        done.map_err(|error| failed(&error))
    }

    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let statement = self.statement(statement)?;
        let found = self.client.query(&statement, &parameters(values));
        let found = found.map_err(|error| failed(&error))?;
        let row = |row: &postgres::Row| (0..row.len()).map(|it| cell(row, it)).collect();
        let rows: Result<Vec<_>, _> = found.iter().map(row).collect();
        let rows = rows.map_err(|error| failed(&error))?;
        Ok(rows.into_iter().map(Row).collect())
    }

    fn define(&mut self, statements: &str) -> Result<(), Fault> {
        let done = self.client.batch_execute(statements);
        done.map_err(|error| failed(&error))
    }

    fn commit(&mut self) -> Result<(), Fault> {
        let done = self.client.batch_execute("COMMIT");
        done.map_err(|error| {
            // Broken rules and conflicts are found before anything is committed.
            let class = error.code().map(|code| &code.code()[..2]);
            if matches!(class, Some("23" | "40")) {
                failed(&error)
            } else {
                Fault::Unknown(said(&error))
            }
        })
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.define("ROLLBACK")
    }

    fn ascending(&self) -> &'static str {
        "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    }
}
