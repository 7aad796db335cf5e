//! What a ring is called on this machine.

use std::fmt;
use std::path::{Path, PathBuf};

use ring_codec::lab2::ETHERTYPE;

/// A ring's name on this machine: its interface, and its EtherType if that is not the usual one, as in
/// `eth0` and `eth0:0x88b6`. The kernel allows no colon in the name of an interface, so no two rings
/// have one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingName(String);

impl RingName {
    /// The name of the ring of that EtherType on `interface`.
    #[must_use]
    pub fn new(interface: &str, ethertype: u16) -> Self {
        Self(match ethertype {
            ETHERTYPE => interface.to_owned(),
            other => format!("{interface}:{other:#06x}"),
        })
    }

    /// A name as a user has given it.
    #[must_use]
    pub fn given(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The control socket in `directory`.
    #[must_use]
    pub fn socket(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.sock", self.0))
    }

    /// The name of the ring that has this control socket; `None`: it is none that a ring is called by.
    #[must_use]
    pub fn of_socket(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
        Some(Self(name.to_owned()))
    }

    /// The file in `directory` that keeps what must survive a restart.
    #[must_use]
    pub fn state(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.state", self.0))
    }
}

impl fmt::Display for RingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::RingName;

    #[test]
    fn the_ethertype_is_in_the_name_unless_it_is_the_usual_one() {
        let directory = Path::new("/run/ringd");
        let cases = [
            (RingName::new("eth0", 0x88b5), "eth0"),
            (RingName::new("eth0.100", 0x88b6), "eth0.100:0x88b6"),
        ];
        for (ring, name) in cases {
            assert_eq!(ring.to_string(), name);
            let socket = ring.socket(directory);
            assert_eq!(socket, directory.join(format!("{name}.sock")));
            assert_eq!(RingName::of_socket(&socket), Some(ring.clone()));
            assert_eq!(RingName::given(name), ring);
            assert_eq!(
                ring.state(directory),
                directory.join(format!("{name}.state"))
            );
        }
    }

    #[test]
    fn other_files_name_no_ring() {
        for other in ["/run/ringd/eth0.lock", "/run/ringd", "/"] {
            assert_eq!(RingName::of_socket(Path::new(other)), None);
        }
    }
}
