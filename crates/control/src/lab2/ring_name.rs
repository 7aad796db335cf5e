//! The name of a Lab2 ring on a machine. The name contains the name of the interface. If the ring's EtherType is not
//! the default, the name also contains the EtherType.

use ring_codec::lab2::ETHERTYPE;

use crate::NodeName;

/// Parses an EtherType that is written in hexadecimal or decimal digits.
///
/// # Errors
/// Returns the reason as a sentence.
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

/// Returns the name of a ring, as in `eth0` and `eth0:0x88b6`. Interface names contain no colon, so two rings never
/// have the same name.
pub fn ring_name(interface: &str, ethertype: u16) -> NodeName {
    match ethertype {
        ETHERTYPE => NodeName::new(interface),
        other => NodeName::new(format!("{interface}:{other:#06x}")),
    }
}

/// Splits the name of a ring into its interface and its EtherType. Returns `None` if the name is not the name of a
/// ring.
pub fn split_ring_name(name: &NodeName) -> Option<(String, u16)> {
    let name = name.to_string();
    match name.split_once(':') {
        None => Some((name, ETHERTYPE)),
        Some((interface, ethertype)) => {
            Some((interface.to_owned(), parse_ethertype(ethertype).ok()?))
        }
    }
}

/// Parses a ring's name. The EtherType may have any spelling that [`parse_ethertype`] accepts.
///
/// # Errors
/// Fails if the name contains a colon that no EtherType follows. The error is a sentence with the reason.
pub fn parse_ring_name(name: &str) -> Result<NodeName, String> {
    let Some((interface, ethertype)) = name.split_once(':') else {
        return Ok(ring_name(name, ETHERTYPE));
    };
    let ethertype = parse_ethertype(ethertype).map_err(|why| format!("{ethertype} is {why}"))?;
    Ok(ring_name(interface, ethertype))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{parse_ring_name, ring_name, split_ring_name};
    use crate::NodeName;

    #[test]
    fn the_name_contains_an_ethertype_that_is_not_the_default() {
        let directory = Path::new("/run/ringd");
        let cases = [
            (ring_name("eth0", 0x88b5), "eth0"),
            (ring_name("eth0.100", 0x88b6), "eth0.100:0x88b6"),
        ];
        let [first, second] = cases.clone().map(|(ring, _)| split_ring_name(&ring));
        assert_eq!(first, Some(("eth0".to_owned(), 0x88b5)));
        assert_eq!(second, Some(("eth0.100".to_owned(), 0x88b6)));
        for (ring, name) in cases {
            assert_eq!(ring.to_string(), name);
            let socket = ring.socket_path(directory);
            assert_eq!(socket, directory.join(format!("{name}.sock")));
            assert_eq!(NodeName::from_socket_path(&socket), Some(ring.clone()));
            assert_eq!(parse_ring_name(name), Ok(ring.clone()));
            assert_eq!(
                ring.state_path(directory),
                directory.join(format!("{name}.state"))
            );
        }
    }

    #[test]
    fn all_spellings_of_an_ethertype_give_one_name() {
        for (given, name) in [
            ("eth0", "eth0"),
            ("eth0:0x88b5", "eth0"),
            ("eth0:34997", "eth0"),
            ("eth0:0x88B6", "eth0:0x88b6"),
            ("eth0:0X88b6", "eth0:0x88b6"),
            ("eth0:34998", "eth0:0x88b6"),
            ("eth0.7:0x6", "eth0.7:0x0006"),
        ] {
            let ring = parse_ring_name(given).map(|ring| ring.to_string());
            assert_eq!(ring.as_deref(), Ok(name), "{given}");
        }
        for wrong in ["eth0:", "eth0:x", "eth0:0x188b5", "eth0:88b5", "eth0:1:2"] {
            let why = parse_ring_name(wrong).expect_err(wrong);
            assert!(why.contains("not an EtherType"), "{wrong}: {why}");
        }
    }
}
