//! What a ring is called on this machine.

use std::fmt;
use std::path::{Path, PathBuf};

use ring_codec::lab2::ETHERTYPE;

/// An `EtherType`, in hexadecimal or decimal digits.
///
/// # Errors
/// The text is something else.
pub fn parse_ethertype(text: &str) -> Result<u16, String> {
    let lower = text.to_ascii_lowercase();
    let parsed = match lower.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16),
        None => lower.parse(),
    };
    parsed.map_err(|_| {
        format!("not an EtherType: give 16 bits, as in {ETHERTYPE:#06x} or {ETHERTYPE}")
    })
}

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

    /// The ring that a user means by a name, however its `EtherType` is spelled.
    ///
    /// # Errors
    /// No `EtherType` follows the colon.
    pub fn parse(name: &str) -> Result<Self, String> {
        let Some((interface, ethertype)) = name.split_once(':') else {
            return Ok(Self::new(name, ETHERTYPE));
        };
        let ethertype =
            parse_ethertype(ethertype).map_err(|why| format!("{ethertype} is {why}"))?;
        Ok(Self::new(interface, ethertype))
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
            assert_eq!(RingName::parse(name), Ok(ring.clone()));
            assert_eq!(
                ring.state(directory),
                directory.join(format!("{name}.state"))
            );
        }
    }

    #[test]
    fn a_ring_has_one_name_however_its_ethertype_is_spelled() {
        for (given, name) in [
            ("eth0", "eth0"),
            ("eth0:0x88b5", "eth0"),
            ("eth0:34997", "eth0"),
            ("eth0:0x88B6", "eth0:0x88b6"),
            ("eth0:0X88b6", "eth0:0x88b6"),
            ("eth0:34998", "eth0:0x88b6"),
            ("eth0.7:0x6", "eth0.7:0x0006"),
        ] {
            let ring = RingName::parse(given).map(|ring| ring.to_string());
            assert_eq!(ring.as_deref(), Ok(name), "{given}");
        }
        for wrong in ["eth0:", "eth0:x", "eth0:0x188b5", "eth0:88b5", "eth0:1:2"] {
            let why = RingName::parse(wrong).expect_err(wrong);
            assert!(why.contains("not an EtherType"), "{wrong}: {why}");
        }
    }

    #[test]
    fn other_files_name_no_ring() {
        for other in ["/run/ringd/eth0.lock", "/run/ringd", "/"] {
            assert_eq!(RingName::of_socket(Path::new(other)), None);
        }
    }
}
