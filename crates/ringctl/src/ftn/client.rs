//! A session with the servers for one command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_client::token::{
    self, Hosts, Refusal, Servers, ServersError, Session, resolve_list_within,
};

use super::super::Error;
use super::key_file::{KeyFile, open_session};
use super::stop_signals::StopSignals;

/// The default client timeout. It equals the servers' default.
pub(super) const CLIENT_TIMEOUT: &str = "15s";

/// The environment variable with the path of the list of servers.
pub(super) const SERVERS_VARIABLE: &str = "RINGD_SERVERS";

/// Maximum time for resolving names at the start. Addresses that are missing after this time are added to the session
/// later. The time limits of the user begin after this time, with the session.
const RESOLVE_TIMEOUT: Duration = Duration::from_millis(300);

/// A list of servers, with the text that it was read from.
pub(super) struct ServerList {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) resolved: Servers,
    pub(super) hosts: Hosts,
    pub(super) warnings: Vec<String>,
}

impl ServerList {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
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
        let list = resolve_list_within(path, &text, RESOLVE_TIMEOUT).map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            text,
            resolved: list.servers,
            hosts: list.hosts,
            warnings: list.warnings,
        })
    }
}

pub(super) struct ServiceClient {
    pub(super) servers: ServerList,
    pub(super) timeout: Duration,
    pub(super) keys: Option<KeyFile>,
}

pub(super) enum Outcome<T> {
    Done(T),
    /// A signal interrupted the work. The value is the exit code for the process.
    Stopped(u8),
}

impl ServiceClient {
    /// Opens a session, does some work in it, and then always logs out. A signal interrupts the work. Servers show
    /// `introduction` to people as the name of the client.
    pub(super) fn with_session<T>(
        &self,
        introduction: &str,
        work: impl FnOnce(&mut Session) -> anyhow::Result<T>,
    ) -> anyhow::Result<Outcome<T>> {
        let stop = StopSignals::new()?;
        let open = || {
            let servers = &self.servers;
            let resolved = servers.resolved.clone();
            let session = open_session(resolved, self.timeout, introduction, self.keys.as_ref())?;
            let mut session = session.resolving(servers.hosts.clone());
            session.watch(&stop)?;
            Ok(session)
        };
        let mut session = open().map_err(session_error)?;
        let done = work(&mut session);
        // A failed logout does no harm, because the servers end the session after the client timeout.
        let _ = session.log_out();
        match done {
            Ok(done) => Ok(Outcome::Done(done)),
            Err(error) if is_interruption(&error) => Ok(Outcome::Stopped(stop.exit_code())),
            Err(error) => Err(error),
        }
    }
}

/// The error of work that a signal interrupted.
#[derive(Debug, thiserror::Error)]
#[error("interrupted by a signal")]
pub(super) struct Interrupted;

fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}

pub(super) fn session_error(error: token::Error) -> Error {
    let text = error.to_string();
    match error {
        token::Error::NoSession { .. } => Error::Gone(text),
        token::Error::Lost(_) => Error::HoldLost(text),
        token::Error::NotPermitted { .. }
        | token::Error::Refused(Refusal::Name | Refusal::Data) => Error::Usage(text),
        token::Error::Socket(error) => Error::System(error),
        token::Error::System(_)
        | token::Error::NotGranted
        | token::Error::NotConfirmed
        | token::Error::Interrupted
        | token::Error::Refused(_) => Error::System(io::Error::other(text)),
    }
}
