//! The control socket's file: made, and removed again.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};

use super::Error;

/// A listening socket whose file goes when this does.
#[derive(Debug)]
pub struct Endpoint {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file, to remove no other.
    file: (u64, u64),
}

impl Endpoint {
    /// Listens at `path`, for the owner and the group; makes its directory if it is missing.
    ///
    /// # Errors
    /// The path cannot be used, or somebody listens there.
    pub fn bind(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Control {
            path: path.to_owned(),
            source,
        };
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            let mut directory = DirBuilder::new();
            directory.recursive(true).mode(0o755);
            directory.create(parent).map_err(failed)?;
        }
        remove_stale(path)?;
        let listener = bind_for_group(path).map_err(failed)?;
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino()),
        })
    }

    /// The socket.
    pub const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.file);
        if ours {
            // A file that stays is found to be stale by whoever wants its place.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A listener whose file never has more rights than it is to have: not even before `chmod`.
fn bind_for_group(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // The file gets the rights of the socket that is bound, less the process's mask.
    fchmod(&listener, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(listener.as_raw_fd(), &UnixAddr::new(path)?)?;
    fs::set_permissions(path, Permissions::from_mode(0o660))?;
    listen(&listener, Backlog::MAXCONN)?;
    Ok(listener.into())
}

/// Removes what an earlier process has left at `path`, if it is a socket without a listener.
fn remove_stale(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Control {
        path: path.to_owned(),
        source,
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(failed(io::Error::new(
                ErrorKind::AlreadyExists,
                "there is a file that is no socket",
            )));
        }
        Ok(_) => {}
    }
    if is_listened_at(path).map_err(failed)? {
        return Err(Error::ControlInUse {
            path: path.to_owned(),
        });
    }
    fs::remove_file(path).map_err(failed)
}

/// Whether somebody listens. A listener that is too busy to accept is one too, so this must not
/// wait for it.
fn is_listened_at(path: &Path) -> io::Result<bool> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let probe = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    match connect(probe.as_raw_fd(), &UnixAddr::new(path)?) {
        Err(nix::errno::Errno::ECONNREFUSED) => Ok(false),
        Ok(()) | Err(nix::errno::Errno::EAGAIN) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;
    use crate::daemon::Error;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_socket_is_for_owner_and_group_and_goes_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/eth0.sock");
        let endpoint = Endpoint::bind(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        drop(endpoint);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_socket_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        // It has never listened: one that had would go on to, for a moment, in a process that
        // another test starts just now and that has a copy of it.
        let flags = SockFlag::SOCK_CLOEXEC;
        let stale = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        bind(stale.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        drop(stale);
        assert!(path.exists());
        Endpoint::bind(&path).unwrap();
    }

    #[test]
    fn a_socket_in_use_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        let _first = Endpoint::bind(&path).unwrap();
        let error = Endpoint::bind(&path).unwrap_err();
        assert!(matches!(error, Error::ControlInUse { .. }), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        fs::write(&path, "precious").unwrap();
        let error = Endpoint::bind(&path).unwrap_err();
        assert_eq!(error.exit_code(), 8);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn a_socket_that_replaced_it_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        let first = Endpoint::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let _second = Endpoint::bind(&path).unwrap();
        drop(first);
        assert!(path.exists());
    }
}
