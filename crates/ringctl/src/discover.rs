//! Finding the daemon to ask.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use ring_control::NodeName;
use ring_runtime::net::Interface;

use super::Error;
use super::nodes::start_serving;
use ring_client::daemon::reach;

/// Returns the control socket of a node. `base` is the directory of Lab2's sockets.
///
/// A node of another system is called SYSTEM-PLACE, and its socket is in the directory BASE-SYSTEM, if that is there: only the
/// user of that system's service can make it. The name of an interface may have a `-` too. A node is called after the
/// first name of its interface, and is found by its other names as well.
pub(crate) fn socket(base: &Path, name: &NodeName) -> PathBuf {
    let text = name.to_string();
    let of_system = text
        .find('-')
        .map(|at| (beside(base, &text[..at]), at + 1))
        .filter(|(directory, _)| directory.is_dir());
    let (directory, begin) = of_system.unwrap_or_else(|| (base.to_owned(), 0));
    let usual = name.socket(&directory);
    if usual.exists() {
        return usual;
    }
    let end = text.find(':').unwrap_or(text.len());
    match text.get(begin..end).map(Interface::name_of) {
        Some(Ok(Some(first))) => {
            let called = format!("{}{first}{}", &text[..begin], &text[end..]);
            NodeName::new(called).socket(&directory)
        }
        _ => usual,
    }
}

/// The directory of a system's sockets.
fn beside(base: &Path, system: &str) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push("-");
    path.push(system);
    path.into()
}

/// Finds the only control socket whose node can do what is asked. `serves` says of a system whether its nodes can; `None`
/// is Lab2.
///
/// # Errors
/// There is none, or several, or a directory cannot be read.
pub(crate) fn only_socket(
    base: &Path,
    serves: impl Fn(Option<&str>) -> bool,
) -> Result<PathBuf, Error> {
    let mut running = all_sockets(base)?;
    running.sort();
    let serving = running.iter().filter(|path| serves(system(base, path)));
    let serving: Vec<&PathBuf> = serving.collect();
    match *serving {
        [] if running.is_empty() => Err(Error::NoneRuns),
        [] => Err(Error::NoneCan {
            nodes: all_names(&running),
            start: start_serving(serves),
        }),
        [only] => Ok(only.clone()),
        ref several => Err(Error::Several {
            interfaces: all_names(several),
        }),
    }
}

/// Returns the system of a node by the directory of its socket; `None`: Lab2.
fn system<'a>(base: &Path, socket: &'a Path) -> Option<&'a str> {
    let start = beside(base, "");
    socket.parent()?.to_str()?.strip_prefix(start.to_str()?)
}

/// The names of all nodes with a control socket, in order.
pub(crate) fn names(base: &Path) -> Result<Vec<String>, Error> {
    let mut names = all_names(&all_sockets(base)?);
    names.sort();
    Ok(names)
}

fn all_names(sockets: &[impl AsRef<Path>]) -> Vec<String> {
    let names = sockets.iter().filter_map(|path| name(path.as_ref()));
    names.map(|name| name.to_string()).collect()
}

/// The sockets in `base`, and those of each other system that have its name.
fn all_sockets(base: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = sockets(base)?;
    let start = beside(base, "");
    let is_systems = |path: &PathBuf| {
        let (path, start) = (path.as_os_str(), start.as_os_str());
        path.as_encoded_bytes()
            .starts_with(start.as_encoded_bytes())
    };
    let beside = base.parent().map(entries).transpose()?.unwrap_or_default();
    for directory in beside.iter().filter(|path| is_systems(path)) {
        // Others than systems may have a directory of such a name.
        found.extend(sockets(directory).unwrap_or_default());
    }
    found.retain(|path| name(path).is_some_and(|name| socket(base, &name) == *path));
    Ok(found)
}

fn sockets(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_daemons = |path: &PathBuf| {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        is_socket && name(path).is_some() && is_listened_at(path)
    };
    Ok(entries(directory)?.into_iter().filter(is_daemons).collect())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::Directory(directory.to_owned(), error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: io::Result<Vec<PathBuf>> = paths.collect();
    paths.map_err(|error| Error::Directory(directory.to_owned(), error))
}

/// Whether a daemon listens: a killed one leaves its file behind.
fn is_listened_at(path: &Path) -> bool {
    !reach(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

fn name(path: &Path) -> Option<NodeName> {
    NodeName::of_socket(path)
}

#[cfg(test)]
mod tests {
    use super::names;
    use crate::Error;
    use ring_control::NodeName;
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};

    /// Returns the only socket of any system.
    fn only_socket(base: &Path) -> Result<PathBuf, Error> {
        super::only_socket(base, |_| true)
    }

    #[test]
    fn the_one_that_can_do_what_is_asked_is_chosen_among_several() {
        let run = tempfile::tempdir().unwrap();
        let (base, other) = (run.path().join("ringd"), run.path().join("ringd-other"));
        fs::create_dir(&base).unwrap();
        fs::create_dir(&other).unwrap();
        let _other = UnixListener::bind(other.join("other-0.sock")).unwrap();
        let is_ring = |system: Option<&str>| system.is_none();
        let error = super::only_socket(&base, is_ring).unwrap_err();
        assert!(error.to_string().contains("only other-0 runs"), "{error}");
        assert_eq!(error.exit_code(), 3);
        let ring = base.join("eth0.sock");
        let _ring = UnixListener::bind(&ring).unwrap();
        assert_eq!(super::only_socket(&base, is_ring).unwrap(), ring);
        let is_other = |system: Option<&str>| system == Some("other");
        let found = super::only_socket(&base, is_other).unwrap();
        assert_eq!(found, other.join("other-0.sock"));
        let error = only_socket(&base).unwrap_err();
        assert!(
            error.to_string().contains("-i eth0 or -i other-0"),
            "{error}"
        );
    }

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
    fn a_node_of_another_system_has_its_socket_in_the_directory_of_its_system() {
        let run = tempfile::tempdir().unwrap();
        let (base, board) = (run.path().join("ringd"), run.path().join("ringd-board"));
        fs::create_dir(&base).unwrap();
        fs::create_dir(&board).unwrap();
        for (name, place) in [("board-1", &board), ("br-lan", &base), ("eth0", &base)] {
            let name = NodeName::new(name);
            assert_eq!(super::socket(&base, &name), name.socket(place));
        }
        let path = board.join("board-1.sock");
        let _daemon = UnixListener::bind(&path).unwrap();
        assert_eq!(only_socket(&base).unwrap(), path);
        // A process of the board's user pretends to be the ring's daemon.
        let _other = UnixListener::bind(board.join("eth0.sock")).unwrap();
        assert_eq!(names(&base).unwrap(), ["board-1"]);
        let _ring = UnixListener::bind(base.join("eth0.sock")).unwrap();
        assert_eq!(names(&base).unwrap(), ["board-1", "eth0"]);
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
