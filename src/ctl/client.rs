//! Asking a daemon.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::sockopt::SendTimeout;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};
use ring_proto::time::Instant;

use super::connection::{Connection, Heard};
use super::lines::Lines;
use super::{Error, peer};
use crate::control::{LockRequest, Reply, Request, to_line};
use crate::host::spoken;
use crate::sys::clock;

/// How long the daemon may take for each step. One that waits for the token is granted the time of the
/// wait besides.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be said of a daemon that ends a conversation.
pub(super) const HUNG_UP: &str =
    "ringd has closed the connection: it has ended, or serves too many clients";

/// Sends the request to the daemon at `path` and waits for its reply.
///
/// # Errors
/// The daemon is not reached, does not answer in time, or not so that it is understood.
pub fn ask(path: &Path, request: &Request) -> Result<Reply, Error> {
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
                spoken(PATIENCE),
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

/// Has the daemon do something that has no answer but that it is done.
///
/// # Errors
/// As [`ask`], or the daemon says why not.
pub(super) fn done(path: &Path, request: &Request) -> Result<(), Error> {
    match ask(path, request)? {
        Reply::Done {} => Ok(()),
        Reply::Error(why) => Err(Error::Refused(why)),
        other => Err(Error::Unexpected(format!("{other:?}"))),
    }
}

/// By when the daemon has answered a request for the token, be it that it is not to be had; `None`: it
/// may take as long as it likes. The daemon counts the time, but one that is stopped does not.
pub(super) fn answers_by(lock: &LockRequest) -> Option<Instant> {
    let wait = lock.wait_ms.map(Duration::from_millis);
    wait.map(|wait| clock::now().monotonic + wait + PATIENCE)
}

/// What is to be said of a daemon that has not answered by then.
pub(super) fn silent() -> String {
    format!(
        "no answer from ringd {} after the wait: it is stopped, or hangs",
        spoken(PATIENCE)
    )
}

/// The same of a request that a daemon may have begun with before it fell silent.
pub(super) fn silent_to(request: &Request) -> String {
    format!("{}{}", silent(), may_take_effect(request))
}

/// What is to be added of a request that nobody has answered. A daemon drops one whose client is gone
/// before it has read it.
const fn may_take_effect(request: &Request) -> &'static str {
    match request {
        Request::Lock(_) | Request::Once(_) => "",
        request if request.needs_its_client() => {
            "; unless it has read the request already, nothing comes of that: ringctl status shows it"
        }
        _ => "",
    }
}

/// By when the daemon has answered a request that needs no wait.
pub(super) fn answers_soon() -> Instant {
    answers_after(Duration::ZERO)
}

/// By when the daemon has answered a request that it may wait with for so long.
pub(super) fn answers_after(wait: Duration) -> Instant {
    clock::now().monotonic + wait + PATIENCE
}

/// A conversation in which answers may take as long as they like.
///
/// # Errors
/// The daemon is not reached.
pub(super) fn endless(path: &Path) -> Result<Lines, Error> {
    let stream = connected(path)?;
    let unlimited = stream.set_read_timeout(None);
    unlimited.map_err(unreachable(path))?;
    Ok(Lines::with_daemon(stream))
}

/// Connects, if it is a daemon who listens and no other user.
fn connected(path: &Path) -> Result<UnixStream, Error> {
    let fail = unreachable(path);
    let reached = reach(path).and_then(|stream| Ok((peer::stranger(&stream)?, stream)));
    match reached.map_err(fail)? {
        (None, stream) => Ok(stream),
        (Some(uid), _) => Err(Error::Stranger {
            path: path.to_owned(),
            uid,
        }),
    }
}

fn unreachable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::Connect {
        path: path.to_owned(),
        reason,
    }
}

/// Connects to whoever listens, but does not wait for ever for one who accepts nobody.
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

/// Asks a daemon, on a connection of its own, for something that it answers at once; does not wait for
/// the answer, nor for a daemon that accepts nobody.
pub(super) fn probe(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    let line = to_line(&Request::Version).map_err(io::Error::other)?;
    stream.write_all(&line)?;
    Ok(stream)
}
