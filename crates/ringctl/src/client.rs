//! Requests to a daemon.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::sockopt::SendTimeout;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};
use ring_control::{NoRequest, OwnRequest, Reply, Request, to_line};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_duration;

use super::connection::{Connection, Heard};
use super::lines::Lines;
use super::{Error, peer};

/// A request that every system may know.
pub(super) type Plain = Request<NoRequest>;

/// Maximum time for each step of a conversation. A wait for the token comes on top of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

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
        Reply::Error(why) => Err(Error::Refused(why)),
        other => Err(Error::Unexpected(format!("{other:?}"))),
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

/// Opens a conversation in which answers may take any time.
///
/// # Errors
/// The daemon is not reached.
pub(super) fn endless(path: &Path) -> Result<Lines, Error> {
    let stream = connected(path)?;
    let unlimited = stream.set_read_timeout(None);
    unlimited.map_err(unreachable(path))?;
    Ok(Lines::with_daemon(stream))
}

/// Connects, if a trusted user's daemon listens.
fn connected(path: &Path) -> Result<UnixStream, Error> {
    let fail = unreachable(path);
    let reached = reach(path).and_then(|stream| Ok((peer::stranger(&stream, path)?, stream)));
    match reached.map_err(fail)? {
        (None, stream) => Ok(stream),
        (Some(uid), _) => Err(Error::Stranger {
            path: path.to_owned(),
            uid,
            service: peer::service(path).to_owned(),
        }),
    }
}

fn unreachable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::Connect {
        path: path.to_owned(),
        reason,
    }
}

/// Connects to any listener, but waits a bounded time for one that does not accept.
pub(super) fn reach(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let patience = i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX);
    setsockopt(&socket, SendTimeout, &TimeVal::seconds(patience))?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
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
