//! Finding the daemon to ask.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::Error;
use super::client::reach;
use crate::control::NodeName;

/// Finds the only control socket in `directory`.
///
/// # Errors
/// There is none, or several, or the directory cannot be read.
pub fn only_socket(directory: &Path) -> Result<PathBuf, Error> {
    let mut sockets = sockets(directory)?;
    sockets.sort();
    match sockets.len() {
        0 => Err(Error::NoneRuns),
        1 => Ok(sockets.remove(0)),
        _ => Err(Error::Several {
            interfaces: sockets.iter().filter_map(|path| name(path)).collect(),
        }),
    }
}

/// The names of all nodes with a control socket in `directory`, in order.
///
/// # Errors
/// The directory cannot be read.
pub fn names(directory: &Path) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = sockets(directory)?
        .iter()
        .filter_map(|path| name(path))
        .collect();
    names.sort();
    Ok(names)
}

fn sockets(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::Directory(error)),
    };
    let mut sockets = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::Directory)?;
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        let path = entry.path();
        if is_socket && NodeName::of_socket(&path).is_some() && is_listened_at(&path) {
            sockets.push(path);
        }
    }
    Ok(sockets)
}

/// Whether a daemon listens: a killed one leaves its file behind.
fn is_listened_at(path: &Path) -> bool {
    !reach(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

fn name(path: &Path) -> Option<String> {
    Some(NodeName::of_socket(path)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::only_socket;
    use crate::ctl::Error;
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};

    #[test]
    fn no_directory_and_no_socket_are_no_daemon() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("eth0.sock"), "no socket").unwrap();
        let _other = UnixListener::bind(directory.path().join("other")).unwrap();
        for path in [directory.path(), &directory.path().join("missing")] {
            let error = only_socket(path).unwrap_err();
            assert!(matches!(error, Error::NoneRuns), "{error}");
            assert!(error.to_string().contains("sudo ringd IFACE"), "{error}");
            assert_eq!(error.exit_code(), 3);
        }
    }

    #[test]
    fn one_socket_is_the_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        let _daemon = UnixListener::bind(&path).unwrap();
        assert_eq!(only_socket(directory.path()).unwrap(), path);
    }

    #[test]
    fn what_a_killed_daemon_left_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        // It has never listened: one that had would go on to, for a moment, in a process that
        // another test starts just now and that has a copy of it.
        let flags = SockFlag::SOCK_CLOEXEC;
        let left = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        let address = UnixAddr::new(&directory.path().join("eth1.sock")).unwrap();
        bind(left.as_raw_fd(), &address).unwrap();
        drop(left);
        let _daemon = UnixListener::bind(&path).unwrap();
        assert_eq!(only_socket(directory.path()).unwrap(), path);
    }

    #[test]
    fn several_are_listed_to_choose_from() {
        let directory = tempfile::tempdir().unwrap();
        let daemons = ["eth0", "br0"]
            .map(|name| UnixListener::bind(directory.path().join(format!("{name}.sock"))).unwrap());
        let error = only_socket(directory.path()).unwrap_err();
        assert!(error.to_string().contains("-i br0 or -i eth0"), "{error}");
        assert_eq!(error.exit_code(), 4);
        drop(daemons);
    }
}
