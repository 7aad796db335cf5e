//! Asks a daemon for its metrics. The daemon has a limited time to answer.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_client::daemon::connect;
use ring_client::lines::Lines;
use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::SYSTEM as JITTERBUG;
use ring_control::lab2::RingRequest;
use ring_control::{NodeName, NodeStatus, RawJson, Reply, Request, SystemRequest};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_duration;

use super::board::BoardNode;
use super::common::{Answer, Silence};
use super::counters::CountersByName;
use super::ftn::Server;
use super::jitterbug::JitterbugNode;
use super::lab2::RingNode;
use super::metric::{Source, encode};
use crate::Error;
use crate::client::{CommonRequest, HUNG_UP_TEXT};
use crate::nodes::BOARD;

/// Maximum time in which a daemon must answer. A daemon in good health answers within milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The metrics of a daemon at one time.
pub(super) struct Snapshot {
    /// The metrics as OpenMetrics text.
    pub text: String,
    /// The reason why the daemon did not answer.
    pub error: Option<Error>,
}

impl Snapshot {
    /// Asks the daemon at `socket`. If the daemon does not answer, the metrics contain only `ringd_up 0`.
    pub(super) fn take(socket: Result<PathBuf, Error>) -> Self {
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => return Self::of_silence(None, Some(error)),
        };
        let daemon = NodeName::from_socket_path(&socket).map(|name| name.to_string());
        match fetch_sources(&socket) {
            Ok(sources) => Self {
                text: encode(daemon.as_deref(), sources),
                error: None,
            },
            Err(error) => Self::of_silence(daemon.as_deref(), Some(error)),
        }
    }

    /// Returns the metrics of a daemon that does not answer.
    fn of_silence(daemon: Option<&str>, error: Option<Error>) -> Self {
        let text = encode(daemon, vec![Box::new(Silence)]);
        Self { text, error }
    }
}

fn fetch_sources(socket: &Path) -> Result<Vec<Box<dyn Source>>, Error> {
    let mut exchange = Exchange::open(socket)?;
    let status = match exchange.ask(&CommonRequest::Status)? {
        Reply::Status(status) => status,
        other => return Err(Error::from_unexpected_reply(other)),
    };
    let locks = match status.system() {
        None => exchange.fetch_named_locks()?,
        Some(_) => None,
    };
    sources(&status, locks.as_deref()).map_err(|reason| Error::Reply {
        path: socket.to_owned(),
        reason,
    })
}

fn sources(
    status: &NodeStatus,
    locks: Option<&[RawJson]>,
) -> serde_json::Result<Vec<Box<dyn Source>>> {
    let mut sources: Vec<Box<dyn Source>> = vec![Box::new(Answer::new(status))];
    match status.system().as_deref() {
        None => {
            sources.push(Box::new(RingNode::new(status, locks)?));
            return Ok(sources);
        }
        Some(FTN) => sources.push(Box::new(Server::new(status)?)),
        Some(JITTERBUG) => sources.push(Box::new(JitterbugNode::new(status)?)),
        Some(BOARD) => sources.push(Box::new(BoardNode::new(status)?)),
        Some(_) => {}
    }
    sources.push(Box::new(CountersByName::new(status)));
    Ok(sources)
}

/// Requests and answers on one connection, until a deadline.
struct Exchange<'a> {
    socket: &'a Path,
    lines: Lines,
    deadline: Instant,
}

impl<'a> Exchange<'a> {
    fn open(socket: &'a Path) -> Result<Self, Error> {
        Ok(Self {
            socket,
            deadline: clock::now().monotonic + ANSWER_TIMEOUT,
            lines: connect(socket)?,
        })
    }

    fn ask<O: SystemRequest>(&mut self, request: &Request<O>) -> Result<Reply, Error> {
        // Ignore errors: a daemon that cannot serve another client closes the connection, but sends an answer before.
        let _ = self.lines.send(request);
        loop {
            if let Some(line) = self.lines.next_line() {
                return serde_json::from_slice(&line).map_err(|reason| Error::Reply {
                    path: self.socket.to_owned(),
                    reason,
                });
            }
            if self.lines.has_ended() {
                return Err(self.failure(ErrorKind::UnexpectedEof, HUNG_UP_TEXT));
            }
            let has_bytes = self.lines.fill_by(Some(self.deadline));
            if !has_bytes.map_err(Error::System)? {
                let waited = format_duration(ANSWER_TIMEOUT);
                let text = format!("ringd sent nothing for {waited}: it is stopped, or hangs");
                return Err(self.failure(ErrorKind::TimedOut, &text));
            }
        }
    }

    /// Returns all named locks of the ring. Returns `None` if the daemon does not know the request, because it has an
    /// earlier version.
    fn fetch_named_locks(&mut self) -> Result<Option<Vec<RawJson>>, Error> {
        match self.ask(&Request::System(RingRequest::Locks))? {
            Reply::Locks(locks) => Ok(Some(locks)),
            Reply::Error(_) => Ok(None),
            other => Err(Error::from_unexpected_reply(other)),
        }
    }

    fn failure(&self, kind: ErrorKind, text: &str) -> Error {
        Error::Exchange {
            path: self.socket.to_owned(),
            reason: io::Error::new(kind, text),
        }
    }
}
