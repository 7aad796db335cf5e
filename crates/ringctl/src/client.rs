//! Sends single requests to a daemon. Also has the deadlines and the error texts for daemons that do not answer.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use ring_client::daemon::STEP_TIMEOUT;
use ring_control::{NoRequest, Reply, Request, SystemRequest, to_line};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_duration;

use super::Error;
use super::connection::{Connection, Received};

/// A request that is not specific to one system.
pub(super) type CommonRequest = Request<NoRequest>;

pub(super) const HUNG_UP_TEXT: &str = "ringd has closed the connection: it has ended, or serves too many clients; \
     check it with ringctl status";

/// Sends the request to the daemon at `path` and waits for the reply.
///
/// # Errors
/// Fails if the daemon cannot be reached, does not answer within 5 s, or sends an unknown reply.
pub(super) fn ask<O: SystemRequest>(path: &Path, request: &Request<O>) -> Result<Reply, Error> {
    let failed = |reason| Error::Exchange {
        path: path.to_owned(),
        reason,
    };
    let mut daemon = Connection::open(path)?;
    let sent = daemon.send(request);
    let line = match daemon.receive(|| Some(step_deadline())).map_err(failed)? {
        Received::Line(line) => line,
        Received::TimedOut => {
            let text = format!(
                "ringd sent nothing for {}: it is stopped, or hangs{}",
                format_duration(STEP_TIMEOUT),
                effect_warning(request)
            );
            return Err(failed(io::Error::new(ErrorKind::TimedOut, text)));
        }
        Received::Closed => {
            sent.map_err(failed)?;
            let text = "ringd has closed the connection: it has ended, or serves too many clients";
            return Err(failed(io::Error::new(ErrorKind::UnexpectedEof, text)));
        }
    };
    serde_json::from_slice(&line).map_err(|reason| Error::Reply {
        path: path.to_owned(),
        reason,
    })
}

pub(super) fn request_done<O: SystemRequest>(
    path: &Path,
    request: &Request<O>,
) -> Result<(), Error> {
    match ask(path, request)? {
        Reply::Done {} => Ok(()),
        other => Err(Error::from_unexpected_reply(other)),
    }
}

// The daemon itself ends the wait after `wait_ms`, but a stalled daemon cannot do this.
pub(super) fn answer_deadline(wait_ms: Option<u64>) -> Option<Instant> {
    let wait = wait_ms.map(Duration::from_millis);
    wait.map(|wait| clock::now().monotonic + wait + STEP_TIMEOUT)
}

pub(super) fn no_answer_text() -> String {
    format!(
        "no answer from ringd {} after the wait: ringd is stopped, or hangs",
        format_duration(STEP_TIMEOUT)
    )
}

/// Returns the text of [`no_answer_text`]. If the daemon may have begun the request, the text also contains a warning.
pub(super) fn no_answer_text_for<O: SystemRequest>(request: &Request<O>) -> String {
    format!("{}{}", no_answer_text(), effect_warning(request))
}

/// Returns a warning if the request may take effect later. Other requests have no later effect, because the daemon
/// drops them if their client disconnects before the daemon reads them.
fn effect_warning<O: SystemRequest>(request: &Request<O>) -> &'static str {
    match request {
        // A lock request has no later effect, because a lock ends with its connection.
        Request::Lock(_) => "",
        request if request.needs_its_client() => {
            "; if ringd has not read the request yet, it drops the request; ringctl status shows the result"
        }
        _ => "",
    }
}

pub(super) fn step_deadline() -> Instant {
    deadline_after(Duration::ZERO)
}

pub(super) fn deadline_after(wait: Duration) -> Instant {
    clock::now().monotonic + wait + STEP_TIMEOUT
}

/// Sends a `version` request to a daemon on a new connection. Does not wait until the daemon accepts the connection,
/// and does not wait for the answer.
pub(super) fn probe(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    let line = to_line(&CommonRequest::Version).map_err(io::Error::other)?;
    stream.write_all(&line)?;
    Ok(stream)
}
