//! Requests to a daemon.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use ring_client::daemon::PATIENCE;
use ring_control::{NoRequest, OwnRequest, Reply, Request, to_line};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_duration;

use super::Error;
use super::connection::{Connection, Heard};

/// A request that every system may know.
pub(super) type Plain = Request<NoRequest>;

/// The message for a daemon that ends a conversation.
pub(super) const HUNG_UP: &str =
    "ringd has closed the connection: it has ended, or serves too many clients";

/// Sends the request to the daemon at `path` and waits for its reply.
///
/// # Errors
/// The daemon cannot be reached, does not answer in time, or sends a reply that this version does not know.
pub(super) fn ask<O: OwnRequest>(path: &Path, request: &Request<O>) -> Result<Reply, Error> {
    let failed = |reason| Error::Exchange {
        path: path.to_owned(),
        reason,
    };
    let mut daemon = Connection::open(path)?;
    let sent = daemon.say(request);
    let line = match daemon.hear(|| Some(answers_soon())).map_err(failed)? {
        Heard::Line(line) => line,
        Heard::Late => {
            let text = format!(
                "nothing came for {}: it is stopped, or hangs{}",
                format_duration(PATIENCE),
                may_take_effect(request)
            );
            return Err(failed(io::Error::new(ErrorKind::TimedOut, text)));
        }
        Heard::End => {
            sent.map_err(failed)?;
            let text = "it has closed the connection";
            return Err(failed(io::Error::new(ErrorKind::UnexpectedEof, text)));
        }
    };
    serde_json::from_slice(&line).map_err(|reason| Error::Reply {
        path: path.to_owned(),
        reason,
    })
}

/// Sends a request whose only answer is that it is done.
///
/// # Errors
/// As [`ask`], or the daemon says why not.
pub(super) fn done<O: OwnRequest>(path: &Path, request: &Request<O>) -> Result<(), Error> {
    match ask(path, request)? {
        Reply::Done {} => Ok(()),
        other => Err(Error::unexpected(other)),
    }
}

/// Returns the deadline for the answer to a request for the token; `None`: there is none. The daemon counts the
/// time itself, but a stopped daemon does not.
pub(super) fn answers_by(wait_ms: Option<u64>) -> Option<Instant> {
    let wait = wait_ms.map(Duration::from_millis);
    wait.map(|wait| clock::now().monotonic + wait + PATIENCE)
}

/// Returns the message for a daemon that has not answered by its deadline.
pub(super) fn silent() -> String {
    format!(
        "no answer from ringd {} after the wait: it is stopped, or hangs",
        format_duration(PATIENCE)
    )
}

/// Returns the same for a request that the daemon may have begun before it fell silent.
pub(super) fn silent_to<O: OwnRequest>(request: &Request<O>) -> String {
    format!("{}{}", silent(), may_take_effect(request))
}

/// Returns what to add for a request without an answer. A daemon drops a request whose client is gone before it
/// has read it.
fn may_take_effect<O: OwnRequest>(request: &Request<O>) -> &'static str {
    match request {
        // A lock ends with its connection.
        Request::Lock(_) => "",
        request if request.needs_its_client() => {
            "; unless it has read the request already, nothing comes of that: ringctl status shows it"
        }
        _ => "",
    }
}

/// Returns the deadline for the answer to a request that needs no wait.
pub(super) fn answers_soon() -> Instant {
    answers_after(Duration::ZERO)
}

/// Returns the deadline for the answer to a request that the daemon may hold for `wait`.
pub(super) fn answers_after(wait: Duration) -> Instant {
    clock::now().monotonic + wait + PATIENCE
}

/// Sends a daemon, on a new connection, a request that it answers at once. Waits neither for the answer nor
/// for a daemon that does not accept.
pub(super) fn probe(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    let line = to_line(&Plain::Version).map_err(io::Error::other)?;
    stream.write_all(&line)?;
    Ok(stream)
}
