//! PostgreSQL: a server, for nodes on several machines.
//!
//! A pooler may use a different session for each transaction. Therefore no statement has a name, and every setting ends
//! with its transaction.

use std::env;
use std::error::Error;
use std::fmt::{self, Write};
use std::time::Duration;

use bytes::BytesMut;
use tokio::runtime::{Builder, Runtime};
use tokio::time;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config};

use super::password::{self, Login};
use super::tls::Tls;
use super::value::Cell;
use super::{Fault, Row, Session, TransactionKind, Value};

/// The time limit of a statement, as a multiple of --database-timeout. The same limit applies while a transaction waits
/// for the node's next statement, because the node may be stopped. At the limit, the server ends the session, so that
/// other nodes can write.
const SESSION_TIMEOUT_FACTOR: u32 = 4;
/// The number of the advisory lock for changes of the tables: "ringboard" in ASCII.
const SCHEMA_LOCK: i64 = 0x7269_6e67_626f_6172;
/// The kernel closes a connection after this number of probes without an answer.
const KEEPALIVE_PROBES_MAX: u32 = 3;
/// The port of a server whose URL has no port.
const DEFAULT_PORT: u16 = 5432;

/// A server, and the protection of connections to it.
#[derive(Clone)]
pub struct Server {
    /// The address and the login of the URL.
    pub config: Config,
    /// The protection of the connection.
    pub tls: Tls,
}

pub(super) struct PostgreSql {
    runtime: Runtime,
    client: Client,
    session_timeout: Duration,
}

/// The reason why a statement has no result.
enum StatementError {
    Server(tokio_postgres::Error),
    TimedOut(Duration),
}

/// Shows the error with all its causes. The text of the library's error names only the outermost cause.
impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = match self {
            Self::Server(error) => error,
            Self::TimedOut(session_timeout) => {
                return write!(
                    f,
                    "no answer for {session_timeout:?}, which is 4 times --database-timeout: gave up the session"
                );
            }
        };
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            write!(text, ": {cause}")?;
            source = cause.source();
        }
        f.write_str(&text)
    }
}

impl From<StatementError> for Fault {
    fn from(error: StatementError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Server {
    fn login(&self) -> Option<Login<'_>> {
        let config = &self.config;
        let user = config.get_user().unwrap_or_default();
        let host = match config.get_hosts().first()? {
            Host::Tcp(name) => name,
            // In a password file, this name means the machine of the node.
            Host::Unix(_) => "localhost",
        };
        Some(Login {
            host,
            port: config.get_ports().first().copied().unwrap_or(DEFAULT_PORT),
            database: config.get_dbname().unwrap_or(user),
            user,
        })
    }

    /// Returns the settings for the client library. With these settings, a server with a silent kernel delays the node
    /// no longer than a server that does not answer.
    fn config(&self, timeout: Duration) -> Config {
        let session_timeout = timeout.saturating_mul(SESSION_TIMEOUT_FACTOR);
        let probe = timeout.max(Duration::from_secs(1));
        let mut hosts = self.config.get_hosts().iter();
        // Data on a Unix socket do not leave this machine, so they need no TLS.
        let ssl_mode = if hosts.all(|host| matches!(host, Host::Unix(_))) {
            SslMode::Disable
        } else {
            self.tls.library_mode()
        };
        let mut config = self.config.clone();
        config
            .connect_timeout(timeout)
            .tcp_user_timeout(session_timeout)
            .keepalives_idle(probe)
            .keepalives_interval(probe)
            .keepalives_retries(KEEPALIVE_PROBES_MAX)
            .ssl_mode(ssl_mode);
        if config.get_application_name().is_none() {
            config.application_name("ring-board");
        }
        config
    }
}

impl PostgreSql {
    /// Connects to a server. Returns a fault if the server cannot be reached or refuses the login.
    pub(super) fn connect(server: &Server, timeout: Duration) -> Result<Self, Fault> {
        let mut config = server.config(timeout);
        let found = server.login().map_or(Ok(None), |login| {
            password::find(login, |name| env::var_os(name))
        });
        let mut hint = String::new();
        match found {
            Ok(Some(password)) => {
                config.password(password);
            }
            Ok(None) => {}
            // The server may need no password. So this text is only a hint, for the case that the login fails.
            Err(why) => hint = format!("; {why}"),
        }
        let tls = server.tls.connector().map_err(Fault::Failed)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Fault::Failed(format!(
                "cannot start a runtime for the connection: {error}"
            ))
        })?;
        let session_timeout = timeout.saturating_mul(SESSION_TIMEOUT_FACTOR);
        let connected = wait_for_server(&runtime, session_timeout, async {
            let (client, connection) = config.connect(tls).await?;
            // If the connection ends, each later statement fails and reports the end.
            tokio::spawn(connection);
            Ok(client)
        });
        match connected {
            Ok(client) => Ok(Self {
                runtime,
                client,
                session_timeout,
            }),
            Err(error) => {
                // The lookup of a name may take longer than the timeout. Then the lookup continues in the background.
                runtime.shutdown_background();
                Err(Fault::Failed(format!("{error}{hint}")))
            }
        }
    }

    fn batch(&self, statements: &str) -> Result<(), StatementError> {
        let Self {
            runtime,
            client,
            session_timeout,
        } = self;
        wait_for_server(runtime, *session_timeout, client.batch_execute(statements))
    }
}

/// Waits for the server, but at most for `patience`.
fn wait_for_server<T>(
    runtime: &Runtime,
    session_timeout: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StatementError> {
    let done = runtime.block_on(async { time::timeout(session_timeout, work).await });
    done.map_err(|_| StatementError::TimedOut(session_timeout))?
        .map_err(StatementError::Server)
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Number(number) => number.to_sql(ty, out),
            Self::Truth(truth) => truth.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT8 | Type::BOOL | Type::TEXT | Type::UNKNOWN)
    }

    to_sql_checked!();
}

/// Returns each value with its type. If the client library knows the types of the values, a statement needs only one
/// round trip.
fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let typed = values.iter().map(|value| {
        let of = match value {
            // The server infers the type.
            Value::Null => Type::UNKNOWN,
            Value::Number(_) => Type::INT8,
            Value::Truth(_) => Type::BOOL,
            Value::Text(_) => Type::TEXT,
        };
        (value as &(dyn ToSql + Sync), of)
    });
    typed.collect()
}

fn cell(row: &tokio_postgres::Row, column: usize) -> Result<Cell, tokio_postgres::Error> {
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
    fn begin(&mut self, kind: TransactionKind) -> Result<(), Fault> {
        let how = match kind {
            // With READ COMMITTED, two selects of one transaction may see different states of the tables.
            TransactionKind::Read => "REPEATABLE READ, READ ONLY",
            TransactionKind::Write | TransactionKind::Schema => "READ COMMITTED",
        };
        // The value 0 would mean no limit.
        let millis = self.session_timeout.as_millis().clamp(1, i32::MAX as u128);
        let mut statements = format!(
            "BEGIN ISOLATION LEVEL {how}; SET LOCAL statement_timeout = {millis}; \
             SET LOCAL idle_in_transaction_session_timeout = {millis}"
        );
        if kind == TransactionKind::Schema {
            let _ = write!(statements, "; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})");
        }
        self.define(&statements)
    }

    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let parameters = parameters(values);
        let work = self.client.execute_typed(statement, &parameters);
        Ok(wait_for_server(&self.runtime, self.session_timeout, work)?)
    }

    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let parameters = parameters(values);
        let work = self.client.query_typed(statement, &parameters);
        let found = wait_for_server(&self.runtime, self.session_timeout, work)?;
        let row = |row: &tokio_postgres::Row| (0..row.len()).map(|it| cell(row, it)).collect();
        let rows: Result<Vec<_>, _> = found.iter().map(row).collect();
        let rows = rows.map_err(StatementError::Server)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    fn define(&mut self, statements: &str) -> Result<(), Fault> {
        Ok(self.batch(statements)?)
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.batch("COMMIT").map_err(|error| {
            // The server reports violated constraints and conflicts (classes 23 and 40) before it commits. So the
            // transaction was certainly not committed.
            let class = match &error {
                StatementError::Server(error) => error.code().map(|code| &code.code()[..2]),
                StatementError::TimedOut(_) => None,
            };
            if matches!(class, Some("23" | "40")) {
                error.into()
            } else {
                Fault::Unknown(error.to_string())
            }
        })
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.define("ROLLBACK")
    }

    fn ascending_id_column(&self) -> &'static str {
        "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    }
}
