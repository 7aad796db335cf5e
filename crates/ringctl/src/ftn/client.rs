//! A session with the servers, for one command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_client::token::{
    self, Hosts, Refusal, Servers, ServersError, Session, resolve_list_within,
};

use super::super::Error;
use super::stop::Stop;

/// What servers and clients count unless they are told otherwise.
pub(super) const CLIENT_TIMEOUT: &str = "15s";

/// The variable that names the list of servers.
pub(super) const SERVERS_VARIABLE: &str = "RINGD_SERVERS";

/// How long names may take before the session begins without them: it fills them in. Time limits count from then on.
const NAMES: Duration = Duration::from_millis(300);

/// A list of servers, with the text that it was resolved from.
pub(super) struct ServerList {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) resolved: Servers,
    pub(super) hosts: Hosts,
    /// What is wrong with addresses.
    pub(super) doubts: Vec<String>,
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
pub(super) struct Client {
    pub(super) servers: ServerList,
    pub(super) timeout: Duration,
}

/// What the work in a session has come to.
pub(super) enum Outcome<T> {
    Done(T),
    /// A signal has come; the process's exit code.
    Stopped(u8),
}

impl Client {
    /// Does some work in a session that a signal interrupts, and ends it whatever comes of that. The session says of itself
    /// what `introduction` says.
    pub(super) fn with_session<T>(
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
pub(super) struct Interrupted;

fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}

/// The error of a session, as this program tells it.
pub(super) fn failed(error: token::Error) -> Error {
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
