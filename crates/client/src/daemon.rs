//! The way to a daemon's control socket, and which users may listen there.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::sockopt::{PeerCredentials, SendTimeout};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect as connect_to, getsockopt, setsockopt,
    socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::{Uid, User, getuid};
use ring_control::CONTROL_DIR;
use thiserror::Error;

use crate::lines::Lines;

/// Maximum time until a daemon accepts a connection, and for each step of a conversation.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no conversation with a daemon.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The socket cannot be connected to.
    #[error("cannot reach ringd at {}: {reason}", path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// A user who is not the daemon's listens at the socket.
    #[error(
        "{} belongs to a process of user {uid}, which is not trusted there: ringd runs as root, as the user of this \
         process, or as the user {service}",
        path.display()
    )]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// That user.
        uid: u32,
        /// The user of the service whose socket it would be.
        service: String,
    },
}

/// Opens a conversation with the daemon at `path`, if a trusted user's process listens there. Answers may take any time.
///
/// # Errors
/// The daemon is not reached.
pub fn connect(path: &Path) -> Result<Lines, ConnectError> {
    let stream = reach(path).and_then(|stream| {
        stream.set_read_timeout(None)?;
        Ok((stranger(&stream, path)?, stream))
    });
    match stream {
        Ok((None, stream)) => Ok(Lines::with_daemon(stream)),
        Ok((Some(uid), _)) => Err(ConnectError::Stranger {
            path: path.to_owned(),
            uid,
            service: service(path).to_owned(),
        }),
        Err(reason) => Err(ConnectError::Unreachable {
            path: path.to_owned(),
            reason,
        }),
    }
}

/// Connects to any listener, but waits a bounded time for one that does not accept.
///
/// # Errors
/// Nobody listens, or nobody accepts in time.
pub fn reach(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let patience = i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX);
    setsockopt(&socket, SendTimeout, &TimeVal::seconds(patience))?;
    connect_to(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// The user of Lab2's service.
const SERVICE: &str = "ringd";

/// Returns the user of the listener at `socket`, if that user is not trusted there.
fn stranger(stream: &UnixStream, socket: &Path) -> io::Result<Option<u32>> {
    let uid = getsockopt(stream, PeerCredentials)?.uid();
    Ok((!is_daemons(uid, socket)).then_some(uid))
}

/// Returns the name of the user whose service has the socket: that of its directory, which only root can make in `/run`. A
/// socket elsewhere is Lab2's.
fn service(socket: &Path) -> &str {
    directory(socket)
        .and_then(Path::file_name)
        .and_then(|name| name.to_str())
        .unwrap_or(SERVICE)
}

/// The directory of a socket, if it is one of a system.
fn directory(socket: &Path) -> Option<&Path> {
    let directory = socket.parent()?;
    let rest = directory.to_str()?.strip_prefix(CONTROL_DIR)?;
    let is_systems = rest.is_empty() || rest.starts_with('-') && !rest.contains('/');
    is_systems.then_some(directory)
}

/// Whether this user is root, the caller, or the service that has the socket: the user has its name, or owns its directory.
fn is_daemons(uid: u32, socket: &Path) -> bool {
    let directory = directory(socket).unwrap_or(Path::new(CONTROL_DIR));
    let owns_sockets = || fs::metadata(directory).is_ok_and(|found| found.uid() == uid);
    let is_service = || {
        let user = User::from_uid(Uid::from_raw(uid));
        matches!(user, Ok(Some(user)) if user.name == service(socket))
    };
    uid == 0 || uid == getuid().as_raw() || owns_sockets() || is_service()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nix::unistd::getuid;

    use super::{is_daemons, service};

    #[test]
    fn root_and_oneself_are_trusted_and_others_are_not() {
        let socket = Path::new("/run/ringd/eth0.sock");
        assert!(is_daemons(0, socket));
        assert!(is_daemons(getuid().as_raw(), socket));
        // The highest number that a user can have, and nobody's.
        assert!(!is_daemons(u32::MAX - 1, socket));
    }

    #[test]
    fn each_socket_is_that_of_one_service() {
        for (socket, user) in [
            ("/run/ringd/eth0.sock", "ringd"),
            ("/run/ringd/board-1.sock", "ringd"),
            ("/run/ringd-board/board-1.sock", "ringd-board"),
            ("/run/ringd-ftn/eth0.sock", "ringd-ftn"),
            ("/run/ringd-board/more/eth0.sock", "ringd"),
            ("/run/ringdboard/eth0.sock", "ringd"),
            ("/tmp/ringd-board/eth0.sock", "ringd"),
            ("eth0.sock", "ringd"),
        ] {
            assert_eq!(service(Path::new(socket)), user, "{socket}");
        }
    }
}
