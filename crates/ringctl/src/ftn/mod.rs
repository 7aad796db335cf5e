//! What `ringctl` does as a client of the token service: `ringctl token`.
//!
//! `get`, `set`, `hold` and `list` are one [`Session`] each, which ends with a logout. `run` is a keeper's work as that of
//! `ringctl run` is; in the daemon's place the keeper has a process of its own, `granter`, with the session.

mod completion;
mod data;
mod granter;
mod hold;
mod holders;
mod list;
mod listing;
mod name;
mod nested;
mod options;
mod run;
mod stop;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Error;
pub(super) use granter::grant;
use name::Name;
pub(super) use options::SERVERS;
pub use options::TokenOptions;
use options::{Acquire, TokenCommand};
use ring_client::token::{
    self, Hosts, Refusal, Servers, ServersError, Session, resolve_list_within,
};
use stop::Stop;

/// How long names may take before the session begins without them: it fills them in. Time limits count from then on.
const NAMES: Duration = Duration::from_millis(300);

/// Carries a command out, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn carry_out(options: &TokenOptions, output: &mut impl Write) -> anyhow::Result<u8> {
    let servers = ServerList::read(&options.servers)?;
    for doubt in &servers.doubts {
        let _ = writeln!(io::stderr(), "ringctl: {doubt}");
    }
    let client = Client {
        servers,
        timeout: options.client_timeout,
    };
    match &options.command {
        TokenCommand::Run(run) => Ok(run::run(&client, run)?),
        TokenCommand::Get { acquire, name } => data::get(&client, acquire, name, output),
        TokenCommand::Set {
            acquire,
            name,
            data,
        } => Ok(data::set(&client, acquire, name, data.as_deref())?),
        TokenCommand::Hold {
            acquire,
            shared,
            until_revoked,
            name,
        } => {
            let access = options::access(*shared);
            let hold = hold::Hold {
                name,
                access,
                until_revoked: *until_revoked,
            };
            hold::hold(&client, acquire, &hold, output)
        }
        TokenCommand::List { json } => list::list(&client, *json, output),
    }
}

/// A list of servers, with the text that it was resolved from.
struct ServerList {
    path: PathBuf,
    text: String,
    resolved: Servers,
    hosts: Hosts,
    /// What is wrong with addresses.
    doubts: Vec<String>,
}

impl ServerList {
    fn read(path: &Path) -> Result<Self, Error> {
        let unusable = |error: ServersError| {
            let advice = match error {
                ServersError::Unreadable { .. } => {
                    "; name another list with --servers FILE or in RINGD_SERVERS"
                }
                _ => "",
            };
            Error::Usage(format!("{error}{advice}"))
        };
        let text = fs::read_to_string(path).map_err(|source| ServersError::Unreadable {
            path: path.to_owned(),
            source,
        });
        let text = text.map_err(unusable)?;
        let list = resolve_list_within(path, &text, NAMES).map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            text,
            resolved: list.servers,
            hosts: list.hosts,
            doubts: list.doubts,
        })
    }
}

/// Whom a client speaks with, and how.
struct Client {
    servers: ServerList,
    timeout: Duration,
}

/// What the work in a session has come to.
enum Outcome<T> {
    Done(T),
    /// A signal has come; the process's exit code.
    Stopped(u8),
}

impl Client {
    /// Does some work in a session that a signal interrupts, and ends it whatever comes of that. The session says of itself
    /// what `introduction` says.
    fn with_session<T>(
        &self,
        introduction: &str,
        work: impl FnOnce(&mut Session) -> anyhow::Result<T>,
    ) -> anyhow::Result<Outcome<T>> {
        let stop = Stop::new()?;
        let open = || {
            let servers = &self.servers;
            let session = Session::open(servers.resolved.clone(), self.timeout, introduction)?;
            let mut session = session.resolving(servers.hosts.clone());
            session.watch(&stop)?;
            Ok(session)
        };
        let mut session = open().map_err(failed)?;
        let done = work(&mut session);
        // Who is not heard by the servers is logged out by their clock.
        let _ = session.log_out();
        match done {
            Ok(done) => Ok(Outcome::Done(done)),
            Err(error) if is_interruption(&error) => Ok(Outcome::Stopped(stop.exit_code())),
            Err(error) => Err(error),
        }
    }
}

/// That a signal has come, as the work in a session says it.
#[derive(Debug, thiserror::Error)]
#[error("interrupted by a signal")]
struct Interrupted;

fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}

/// Requests a token for this command and waits for it.
fn acquire(
    session: &mut Session,
    acquire: &Acquire,
    name: &Name,
    access: token::Access,
) -> anyhow::Result<token::Grant> {
    match session.acquire(name.bytes(), access, acquire.wait_limits()) {
        Ok(grant) => Ok(grant),
        Err(token::Error::Interrupted) => Err(Interrupted.into()),
        Err(token::Error::NotGranted) => Err(Error::NotAcquired {
            text: holders::busy(session, name),
            code: acquire.conflict_exit_code,
        }
        .into()),
        Err(error) => Err(failed(error).into()),
    }
}

/// The error of a session, as this program tells it.
fn failed(error: token::Error) -> Error {
    let text = error.to_string();
    match error {
        token::Error::NoSession { .. } => Error::Gone(text),
        token::Error::Lost(_) => Error::HoldLost(text),
        token::Error::Refused(Refusal::Name | Refusal::Data) => Error::Usage(text),
        token::Error::Socket(error) => Error::System(error),
        token::Error::System(_)
        | token::Error::NotGranted
        | token::Error::NotConfirmed
        | token::Error::Interrupted
        | token::Error::Refused(_) => Error::System(io::Error::other(text)),
    }
}
