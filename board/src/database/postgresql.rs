//! PostgreSQL: a server, for nodes on several machines.
//!
//! No statement has a name and no setting outlives its transaction, so a pooler may give each transaction another session.

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
use super::{Fault, Kind, Row, Session, Value};

/// How many times longer than the machine's own patience a statement may take, and a transaction rest in which this
/// process was stopped: the server ends it then, and others go on.
const PATIENCE: u32 = 4;
/// The number of the lock that one takes who may change the tables: "ringboard" in a number.
const SCHEMA_LOCK: i64 = 0x7269_6e67_626f_6172;
/// Probes without an answer after which the kernel gives up a connection.
const PROBES: u32 = 3;
/// The port of a server whose URL names none.
const PORT: u16 = 5432;

/// A server, and how it is connected to.
#[derive(Clone)]
pub struct Server {
    /// What the URL says.
    pub config: Config,
    /// How the connection is protected.
    pub tls: Tls,
}

/// A connection to a server.
pub(super) struct PostgreSql {
    runtime: Runtime,
    client: Client,
    patience: Duration,
}

/// Why a statement has no result.
enum Trouble {
    Said(tokio_postgres::Error),
    Silent(Duration),
}

/// All that an error says: its own words are few.
impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = match self {
            Self::Said(error) => error,
            Self::Silent(patience) => {
                return write!(
                    f,
                    "no answer for {patience:?}, 4 times --database-timeout: the session is given up"
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

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        Self::Failed(trouble.to_string())
    }
}

impl Server {
    fn login(&self) -> Option<Login<'_>> {
        let config = &self.config;
        let user = config.get_user().unwrap_or_default();
        let host = match config.get_hosts().first()? {
            Host::Tcp(name) => name,
            // A password file names the machine itself so.
            Host::Unix(_) => "localhost",
        };
        Some(Login {
            host,
            port: config.get_ports().first().copied().unwrap_or(PORT),
            database: config.get_dbname().unwrap_or(user),
            user,
        })
    }

    /// The library's settings. A server's kernel that is silent is given up as soon as a server that is.
    fn config(&self, timeout: Duration) -> Config {
        let patience = timeout.saturating_mul(PATIENCE);
        let probe = timeout.max(Duration::from_secs(1));
        let mut hosts = self.config.get_hosts().iter();
        // What passes through a socket of this machine leaves it nowhere.
        let ssl_mode = if hosts.all(|host| matches!(host, Host::Unix(_))) {
            SslMode::Disable
        } else {
            self.tls.library_mode()
        };
        let mut config = self.config.clone();
        config
            .connect_timeout(timeout)
            .tcp_user_timeout(patience)
            .keepalives_idle(probe)
            .keepalives_interval(probe)
            .keepalives_retries(PROBES)
            .ssl_mode(ssl_mode);
        if config.get_application_name().is_none() {
            config.application_name("ring-board");
        }
        config
    }
}

impl PostgreSql {
    /// Connects to a server.
    ///
    /// # Errors
    /// It is not there, or lets nobody in.
    pub(super) fn connect(server: &Server, timeout: Duration) -> Result<Self, Fault> {
        let mut config = server.config(timeout);
        let found = server.login().map_or(Ok(None), |login| {
            password::find(login, |name| env::var_os(name))
        });
        let mut note = String::new();
        match found {
            Ok(Some(password)) => {
                config.password(password);
            }
            Ok(None) => {}
            // A server may want none.
            Err(why) => note = format!("; {why}"),
        }
        let tls = server.tls.connector().map_err(Fault::Failed)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| Fault::Failed(format!("cannot wait for the server: {error}")))?;
        let patience = timeout.saturating_mul(PATIENCE);
        let connected = wait(&runtime, patience, async {
            let (client, connection) = config.connect(tls).await?;
            // Its end is told with each statement from then on.
            tokio::spawn(connection);
            Ok(client)
        });
        match connected {
            Ok(client) => Ok(Self {
                runtime,
                client,
                patience,
            }),
            Err(trouble) => {
                // A name that is looked up may take longer.
                runtime.shutdown_background();
                Err(Fault::Failed(format!("{trouble}{note}")))
            }
        }
    }

    fn batch(&self, statements: &str) -> Result<(), Trouble> {
        let Self {
            runtime,
            client,
            patience,
        } = self;
        wait(runtime, *patience, client.batch_execute(statements))
    }
}

/// Waits for the server, and no longer than `patience`.
fn wait<T>(
    runtime: &Runtime,
    patience: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Trouble> {
    let done = runtime.block_on(async { time::timeout(patience, work).await });
    done.map_err(|_| Trouble::Silent(patience))?
        .map_err(Trouble::Said)
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

/// Values with their types, so that the server is asked once a statement.
fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let typed = values.iter().map(|value| {
        let of = match value {
            // The server takes it for what belongs in its place.
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
    fn begin(&mut self, kind: Kind) -> Result<(), Fault> {
        let how = match kind {
            // Two selects of READ COMMITTED are no snapshot.
            Kind::Look => "REPEATABLE READ, READ ONLY",
            Kind::Write | Kind::Schema => "READ COMMITTED",
        };
        // None is 0, which would be for ever.
        let millis = self.patience.as_millis().clamp(1, i32::MAX as u128);
        let mut statements = format!(
            "BEGIN ISOLATION LEVEL {how}; SET LOCAL statement_timeout = {millis}; \
             SET LOCAL idle_in_transaction_session_timeout = {millis}"
        );
        if kind == Kind::Schema {
            let _ = write!(statements, "; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})");
        }
        self.define(&statements)
    }

    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let parameters = parameters(values);
        let work = self.client.execute_typed(statement, &parameters);
        Ok(wait(&self.runtime, self.patience, work)?)
    }

    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let parameters = parameters(values);
        let work = self.client.query_typed(statement, &parameters);
        let found = wait(&self.runtime, self.patience, work)?;
        let row = |row: &tokio_postgres::Row| (0..row.len()).map(|it| cell(row, it)).collect();
        let rows: Result<Vec<_>, _> = found.iter().map(row).collect();
        let rows = rows.map_err(Trouble::Said)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    fn define(&mut self, statements: &str) -> Result<(), Fault> {
        Ok(self.batch(statements)?)
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.batch("COMMIT").map_err(|trouble| {
            // Broken rules and conflicts are found before anything is committed.
            let class = match &trouble {
                Trouble::Said(error) => error.code().map(|code| &code.code()[..2]),
                Trouble::Silent(_) => None,
            };
            if matches!(class, Some("23" | "40")) {
                trouble.into()
            } else {
                Fault::Unknown(trouble.to_string())
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
