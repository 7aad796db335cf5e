//! What a node is called on its machine.

use std::fmt;
use std::path::{Path, PathBuf};

/// A node's name on this machine, by which its files are found. Lab2's nodes are called after their ring; those of
/// other systems by [`of`](Self::of).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeName(String);

impl NodeName {
    /// A name as it is.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name of a system's node at a place, which is what tells it from the system's others on this machine (an
    /// interface, a number), as in `note-7`.
    pub fn of(system: &str, place: &str) -> Self {
        Self(format!("{system}-{place}"))
    }

    /// The control socket in `directory`.
    pub fn socket(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.sock", self.0))
    }

    /// The name of the node that has this control socket; `None`: no node is called so.
    pub fn of_socket(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
        Some(Self(name.to_owned()))
    }

    /// The file in `directory` that keeps what must survive a restart.
    pub fn state(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.state", self.0))
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

    use super::NodeName;

    #[test]
    fn a_systems_nodes_have_its_name_in_front() {
        let (name, directory) = (NodeName::of("note", "7"), Path::new("/run/ringd"));
        let socket = name.socket(directory);
        assert_eq!(socket, Path::new("/run/ringd/note-7.sock"));
        assert_eq!(NodeName::of_socket(&socket), Some(name));
    }

    #[test]
    fn other_files_name_no_node() {
        for other in ["/run/ringd/eth0.lock", "/run/ringd", "/"] {
            assert_eq!(NodeName::of_socket(Path::new(other)), None);
        }
    }
}
