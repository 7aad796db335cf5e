//! Which users may run the daemon.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::{Uid, User};
use ring_control::CONTROL_DIR;
use rustix::process::getuid;

/// The user of Lab2's service.
const SERVICE: &str = "ringd";

/// Returns the user of the listener at `socket`, if that user is not trusted there.
///
/// # Errors
/// The kernel does not tell who listens.
pub(super) fn stranger(stream: &UnixStream, socket: &Path) -> io::Result<Option<u32>> {
    let uid = getsockopt(stream, PeerCredentials)?.uid();
    Ok((!is_daemons(uid, socket)).then_some(uid))
}

/// Returns the name of the user whose service has the socket: that of its directory, which only root can make in `/run`. A
/// socket elsewhere is Lab2's.
pub(super) fn service(socket: &Path) -> &str {
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

    use rustix::process::getuid;

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
