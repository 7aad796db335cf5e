//! Which users may run the daemon.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::{Uid, User};
use rustix::process::getuid;

use crate::control::CONTROL_DIR;

/// The user that the service runs as.
const SERVICE: &str = "ringd";

/// Returns the user of the listener, if that user is not trusted.
///
/// # Errors
/// The kernel does not tell who listens.
pub(super) fn stranger(stream: &UnixStream) -> io::Result<Option<u32>> {
    let uid = getsockopt(stream, PeerCredentials)?.uid();
    Ok((!is_daemons(uid)).then_some(uid))
}

/// Whether this user is root, the caller, or the service: the user has its name, or owns its directory of
/// sockets, which only root can have made.
fn is_daemons(uid: u32) -> bool {
    let owns_sockets = || fs::metadata(CONTROL_DIR).is_ok_and(|found| found.uid() == uid);
    let is_service = || {
        let user = User::from_uid(Uid::from_raw(uid));
        matches!(user, Ok(Some(user)) if user.name == SERVICE)
    };
    uid == 0 || uid == getuid().as_raw() || owns_sockets() || is_service()
}

#[cfg(test)]
mod tests {
    use rustix::process::getuid;

    use super::is_daemons;

    #[test]
    fn root_and_oneself_are_trusted_and_others_are_not() {
        assert!(is_daemons(0));
        assert!(is_daemons(getuid().as_raw()));
        // The highest number that a user can have, and nobody's.
        assert!(!is_daemons(u32::MAX - 1));
    }
}
