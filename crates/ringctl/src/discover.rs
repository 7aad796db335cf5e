//! Finds the control socket of the daemon to which `ringctl` sends its request.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use ring_control::{CONTROL_DIR, NodeName, monitor_socket_path};
use ring_runtime::net::Interface;

use super::Error;
use super::nodes::start_command_for;
use ring_client::daemon::connect_untrusted;

/// Returns the path of a node's control socket. `base` is the directory of Lab2's sockets.
///
/// The name of an interface may contain a `-`, so a name such as SYSTEM-PLACE can be ambiguous. If the directory
/// BASE-SYSTEM exists, the name means a node of the system SYSTEM. Only root can create this directory. If the
/// directory does not exist, the name means an interface. The name of a node contains the main name of its interface.
/// Users may also give an alternative name of the interface.
pub(crate) fn socket_path(base: &Path, name: &NodeName) -> PathBuf {
    let text = name.to_string();
    let of_system = text
        .find('-')
        .map(|at| (system_directory(base, &text[..at]), at + 1))
        .filter(|(directory, _)| directory.is_dir());
    let (directory, begin) = of_system.unwrap_or_else(|| (base.to_owned(), 0));
    let usual = name.socket_path(&directory);
    if usual.exists() {
        return usual;
    }
    let end = text.find(':').unwrap_or(text.len());
    match text.get(begin..end).map(Interface::name_of) {
        Some(Ok(Some(first))) => {
            let called = format!("{}{first}{}", &text[..begin], &text[end..]);
            NodeName::new(called).socket_path(&directory)
        }
        _ => usual,
    }
}

/// Returns the socket for a command that only reads. This is usually the control socket. If this user may use only the
/// monitor socket, it is the monitor socket.
pub(crate) fn socket_for_reading(control: PathBuf) -> PathBuf {
    let can_connect = |path: &Path| access(path, AccessFlags::W_OK);
    let monitor = monitor_socket_path(&control);
    match can_connect(&control) {
        Err(Errno::EACCES) if can_connect(&monitor).is_ok() => monitor,
        _ => control,
    }
}

/// Returns the name of the node whose control socket has this path. Returns `None` if the socket is outside the usual
/// directories, because its path then does not contain the node's name.
pub(crate) fn node_at(socket: &Path) -> Option<NodeName> {
    let place = socket.parent()?.to_str()?;
    (place.starts_with(CONTROL_DIR)).then(|| NodeName::from_socket_path(socket))?
}

fn system_directory(base: &Path, system: &str) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push("-");
    path.push(system);
    path.into()
}

/// Finds the only control socket whose node can serve the command. `serves` returns whether nodes of a system can serve
/// the command. For Lab2, its argument is `None`.
///
/// # Errors
/// Fails if there is no such socket, if there are several, or if a directory cannot be read.
pub(crate) fn only_socket(
    base: &Path,
    serves: impl Fn(Option<&str>) -> bool,
) -> Result<PathBuf, Error> {
    let mut running = all_sockets(base)?;
    running.sort();
    let serving = running.iter().filter(|path| serves(system_of(base, path)));
    let serving: Vec<&PathBuf> = serving.collect();
    match *serving {
        [] if running.is_empty() => Err(Error::NoneRuns),
        [] => Err(Error::NoneCan {
            nodes: names_of(&running),
            start: start_command_for(serves),
        }),
        [only] => Ok(only.clone()),
        ref several => Err(Error::Several {
            interfaces: names_of(several),
        }),
    }
}

/// Returns the name of a node's system, from the directory of its socket. Returns `None` for Lab2.
fn system_of<'a>(base: &Path, socket: &'a Path) -> Option<&'a str> {
    let start = system_directory(base, "");
    socket.parent()?.to_str()?.strip_prefix(start.to_str()?)
}

/// Returns the sorted names of all nodes that have a control socket.
pub(crate) fn node_names(base: &Path) -> Result<Vec<String>, Error> {
    let mut names = names_of(&all_sockets(base)?);
    names.sort();
    Ok(names)
}

fn names_of(sockets: &[impl AsRef<Path>]) -> Vec<String> {
    let names = sockets.iter().filter_map(|path| node_name(path.as_ref()));
    names.map(|name| name.to_string()).collect()
}

/// Returns the sockets in `base`, and the sockets in the directories of the other systems. In the directory of a
/// system, ignores sockets whose names belong to a different system.
fn all_sockets(base: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = sockets(base)?;
    let start = system_directory(base, "");
    let is_system_directory = |path: &PathBuf| {
        let (path, start) = (path.as_os_str(), start.as_os_str());
        path.as_encoded_bytes()
            .starts_with(start.as_encoded_bytes())
    };
    let siblings = base.parent().map(entries).transpose()?.unwrap_or_default();
    for directory in siblings.iter().filter(|path| is_system_directory(path)) {
        // A directory with such a name may belong to another program and be unreadable.
        found.extend(sockets(directory).unwrap_or_default());
    }
    found.retain(|path| node_name(path).is_some_and(|name| socket_path(base, &name) == *path));
    Ok(found)
}

fn sockets(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let has_daemon = |path: &PathBuf| {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        is_socket && node_name(path).is_some() && has_listener(path)
    };
    Ok(entries(directory)?.into_iter().filter(has_daemon).collect())
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

/// Whether a daemon listens at the control socket. The file of a socket does not prove that a daemon listens, because a
/// killed daemon leaves the file behind.
fn has_listener(path: &Path) -> bool {
    let path = socket_for_reading(path.to_owned());
    !connect_untrusted(&path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// Returns the name of the node whose control socket has this path. Returns `None` for a monitor socket.
fn node_name(path: &Path) -> Option<NodeName> {
    let name = NodeName::from_socket_path(path)?;
    (name.socket_path(path.parent()?) == *path).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::node_names;
    use crate::Error;
    use ring_control::{NodeName, monitor_socket_path};
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};

    fn only_socket(base: &Path) -> Result<PathBuf, Error> {
        super::only_socket(base, |_| true)
    }

    #[test]
    fn only_a_node_that_can_serve_the_command_is_chosen() {
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
    fn without_a_socket_no_daemon_is_found() {
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
    fn a_socket_without_a_listener_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        // Use a socket that has never listened. If another test forks at this moment, its child keeps copies of all
        // open sockets for a moment. A socket that has listened would still listen in the child.
        let flags = SockFlag::SOCK_CLOEXEC;
        let unused = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        let address = UnixAddr::new(&directory.path().join("eth1.sock")).unwrap();
        bind(unused.as_raw_fd(), &address).unwrap();
        drop(unused);
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
            assert_eq!(super::socket_path(&base, &name), name.socket_path(place));
        }
        let path = board.join("board-1.sock");
        let _daemon = UnixListener::bind(&path).unwrap();
        assert_eq!(only_socket(&base).unwrap(), path);
        // `ringctl` must not take a process of the board's user for the daemon of a ring.
        let _other = UnixListener::bind(board.join("eth0.sock")).unwrap();
        assert_eq!(node_names(&base).unwrap(), ["board-1"]);
        let _ring = UnixListener::bind(base.join("eth0.sock")).unwrap();
        assert_eq!(node_names(&base).unwrap(), ["board-1", "eth0"]);
    }

    #[test]
    fn a_node_with_a_monitor_socket_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        let control = directory.path().join("eth0.sock");
        let _daemon = UnixListener::bind(&control).unwrap();
        let monitor = UnixListener::bind(monitor_socket_path(&control)).unwrap();
        assert_eq!(only_socket(directory.path()).unwrap(), control);
        assert_eq!(node_names(directory.path()).unwrap(), ["eth0"]);
        // The search must not use up a place for a monitor's connection.
        monitor.set_nonblocking(true).unwrap();
        assert!(monitor.accept().is_err());
    }

    #[test]
    fn several_nodes_are_listed_to_choose_from() {
        let directory = tempfile::tempdir().unwrap();
        let daemons = ["eth0", "br0"]
            .map(|name| UnixListener::bind(directory.path().join(format!("{name}.sock"))).unwrap());
        let error = only_socket(directory.path()).unwrap_err();
        assert!(error.to_string().contains("-i br0 or -i eth0"), "{error}");
        assert_eq!(error.exit_code(), 4);
        drop(daemons);
    }
}
