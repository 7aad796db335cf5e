//! Connections to a daemon's control socket, and the users that may listen there.

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

/// Maximum time for which a client waits until a daemon accepts its connection. A client waits at most the same time
/// for each message of the daemon.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why no request can be sent to a daemon.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// No connection to the socket is possible.
    #[error("cannot reach ringd at {}: {reason}", path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// A process of an unexpected user listens at the socket.
    #[error(
        "cannot trust the ringd at {}: the socket belongs to a process of user {uid}; run ringd as root, as this \
         user, or as the user {service}",
        path.display()
    )]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// The user of the process that listens at the socket.
        uid: u32,
        /// The user who should run the daemon of this socket.
        service: String,
    },
}

/// Connects to the daemon at `path`. Fails unless the process that listens there belongs to a trusted user. Reads from
/// the connection have no time limit.
///
/// # Errors
/// Fails if the daemon cannot be reached or trusted.
pub fn connect(path: &Path) -> Result<Lines, ConnectError> {
    let stream = connect_untrusted(path).and_then(|stream| {
        stream.set_read_timeout(None)?;
        Ok((untrusted_user(&stream, path)?, stream))
    });
    match stream {
        Ok((None, stream)) => Ok(Lines::with_daemon(stream)),
        Ok((Some(uid), _)) => Err(ConnectError::Stranger {
            path: path.to_owned(),
            uid,
            service: service_user(path).to_owned(),
        }),
        Err(reason) => Err(ConnectError::Unreachable {
            path: path.to_owned(),
            reason,
        }),
    }
}

/// Connects to a listener of any user. Waits at most [`STEP_TIMEOUT`] until the listener accepts. Each later read also
/// waits at most [`STEP_TIMEOUT`].
///
/// # Errors
/// Fails if no process listens, or if the listener does not accept in time.
pub fn connect_untrusted(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let seconds = i64::try_from(STEP_TIMEOUT.as_secs()).unwrap_or(i64::MAX);
    setsockopt(&socket, SendTimeout, &TimeVal::seconds(seconds))?;
    connect_to(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_read_timeout(Some(STEP_TIMEOUT))?;
    Ok(stream)
}

const LAB2_USER: &str = "ringd";

/// Returns `None` if the user of the listening process is trusted at this socket. Otherwise returns the id of this
/// user.
fn untrusted_user(stream: &UnixStream, socket: &Path) -> io::Result<Option<u32>> {
    let uid = getsockopt(stream, PeerCredentials)?.uid();
    Ok((!is_trusted(uid, socket)).then_some(uid))
}

/// Returns the name of the user who should run the daemon of this socket. For a socket in a directory of `/run`, this
/// is the name of the directory. This is safe, because only root can create directories in `/run`. For any other
/// socket, this is the user of the Lab2 daemon.
fn service_user(socket: &Path) -> &str {
    system_directory(socket)
        .and_then(Path::file_name)
        .and_then(|name| name.to_str())
        .unwrap_or(LAB2_USER)
}

/// Returns the directory of a socket. Returns `None` if no system uses this directory for its sockets.
fn system_directory(socket: &Path) -> Option<&Path> {
    let directory = socket.parent()?;
    let rest = directory.to_str()?.strip_prefix(CONTROL_DIR)?;
    let is_system_directory = rest.is_empty() || rest.starts_with('-') && !rest.contains('/');
    is_system_directory.then_some(directory)
}

/// Whether a user is trusted at a socket. The trusted users are root, the user of this process, the owner of the
/// socket's directory, and the user of the system's daemon.
fn is_trusted(uid: u32, socket: &Path) -> bool {
    let directory = system_directory(socket).unwrap_or(Path::new(CONTROL_DIR));
    let owns_sockets = || fs::metadata(directory).is_ok_and(|found| found.uid() == uid);
    let is_service = || {
        let user = User::from_uid(Uid::from_raw(uid));
        matches!(user, Ok(Some(user)) if user.name == service_user(socket))
    };
    uid == 0 || uid == getuid().as_raw() || owns_sockets() || is_service()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nix::unistd::getuid;

    use super::{is_trusted, service_user};

    #[test]
    fn only_root_and_the_caller_are_trusted() {
        let socket = Path::new("/run/ringd/eth0.sock");
        assert!(is_trusted(0, socket));
        assert!(is_trusted(getuid().as_raw(), socket));
        // The highest possible user number, which no user has.
        assert!(!is_trusted(u32::MAX - 1, socket));
    }

    #[test]
    fn each_socket_has_the_user_of_its_service() {
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
            assert_eq!(service_user(Path::new(socket)), user, "{socket}");
        }
    }
}
