//! The name of a node on its machine.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The suffix of the name of each control socket.
const CONTROL_SUFFIX: &str = ".sock";
/// The suffix of the name of each monitor socket. Programs that look for control sockets skip names with this suffix.
const MONITOR_SUFFIX: &str = ".monitor";
/// The suffix of the name of each file with the newest known token.
const RECENT_SUFFIX: &str = ".recent";
/// A node writes two histories of holds: one for programs of this machine, and one for other machines. These are the
/// suffixes of the files with the newer entries.
const HISTORY_SUFFIXES: [&str; 2] = [".history", ".member-history"];
/// The suffix that the file with the older entries has in addition to the name of the file with the newer entries.
const OLDER_SUFFIX: &str = ".1";

/// Returns the path of a daemon's monitor socket. `control` is the path of the daemon's control socket.
pub fn monitor_socket_path(control: &Path) -> PathBuf {
    with_suffix(control, MONITOR_SUFFIX)
}

/// Returns the path of the file in which a daemon stores the newest known token. `control` is the path of the daemon's
/// control socket.
pub fn recent_state_path(control: &Path) -> PathBuf {
    with_suffix(control, RECENT_SUFFIX)
}

/// Replaces the suffix of the name of a control socket.
fn with_suffix(control: &Path, suffix: &str) -> PathBuf {
    let path = control.as_os_str().as_bytes();
    let stem = path.strip_suffix(CONTROL_SUFFIX.as_bytes()).unwrap_or(path);
    OsString::from_vec([stem, suffix.as_bytes()].concat()).into()
}

/// Returns the path of the file with the older holds. `newer` is the path of the file with the newer holds.
pub fn older_history_path(newer: &Path) -> PathBuf {
    let mut path = newer.as_os_str().to_owned();
    path.push(OLDER_SUFFIX);
    path.into()
}

/// The name of a node on this machine. The names of the node's files contain this text. A node of Lab2 has the name of
/// its ring. A node of any other system has the name that [`of_system`](Self::of_system) returns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeName(String);

impl NodeName {
    /// Creates a name from its text.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Returns the name of a node of this system, such as `note-7`. `place` is an interface or a number. `place`
    /// distinguishes the node from other nodes of the system on the same machine.
    pub fn of_system(system: &str, place: &str) -> Self {
        Self(format!("{system}-{place}"))
    }

    /// Returns the path of the control socket in `directory`.
    pub fn socket_path(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}{CONTROL_SUFFIX}", self.0))
    }

    /// Returns the name of the node whose socket has this path. Returns `None` if this is not the path of a control
    /// socket or a monitor socket.
    pub fn from_socket_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(CONTROL_SUFFIX);
        let stem = stem.or_else(|| name.strip_suffix(MONITOR_SUFFIX))?;
        Some(Self(stem.to_owned()))
    }

    /// Returns the path of the state file in `directory`.
    pub fn state_path(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.state", self.0))
    }

    /// Returns the paths of the two files with the newer holds in `directory`. The first file is about programs of this
    /// machine, and the second file is about other machines.
    pub fn history_paths(&self, directory: &Path) -> [PathBuf; 2] {
        HISTORY_SUFFIXES.map(|suffix| directory.join(format!("{}{suffix}", self.0)))
    }

    /// Returns the name of the node that writes its holds to this file. Returns `None` if this is not the path of such
    /// a file.
    pub fn from_history_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let newer = name.strip_suffix(OLDER_SUFFIX).unwrap_or(name);
        let mut suffixes = HISTORY_SUFFIXES.iter();
        let name = suffixes.find_map(|suffix| newer.strip_suffix(suffix))?;
        Some(Self(name.to_owned()))
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{NodeName, monitor_socket_path, older_history_path};

    #[test]
    fn each_file_of_holds_has_the_name_of_its_node() {
        let name = NodeName::new("eth0.5:0x88b6");
        for path in name.history_paths(Path::new("/var/lib/ringd")) {
            for path in [older_history_path(&path), path] {
                assert_eq!(NodeName::from_history_path(&path), Some(name.clone()));
            }
        }
        assert_eq!(
            NodeName::from_history_path(Path::new("/x/eth0.state")),
            None
        );
    }

    #[test]
    fn the_name_of_a_node_begins_with_its_system() {
        let (name, directory) = (NodeName::of_system("note", "7"), Path::new("/run/ringd"));
        let socket = name.socket_path(directory);
        assert_eq!(socket, Path::new("/run/ringd/note-7.sock"));
        assert_eq!(NodeName::from_socket_path(&socket), Some(name));
    }

    #[test]
    fn the_monitor_socket_has_the_name_of_its_node() {
        for (control, monitor) in [
            ("/run/ringd/eth0.sock", "/run/ringd/eth0.monitor"),
            ("/run/ringd/eth0.100.sock", "/run/ringd/eth0.100.monitor"),
            ("control", "control.monitor"),
        ] {
            let (control, found) = (Path::new(control), monitor_socket_path(Path::new(control)));
            assert_eq!(found, Path::new(monitor));
            let name = NodeName::from_socket_path(control);
            assert!(name.is_none() || name == NodeName::from_socket_path(&found));
        }
    }

    #[test]
    fn other_files_have_no_node() {
        for other in ["/run/ringd/eth0.lock", "/run/ringd", "/"] {
            assert_eq!(NodeName::from_socket_path(Path::new(other)), None);
        }
    }
}
