//! Names of members: `/etc/ethers` has names by MAC, `/etc/hosts` by ip. No other source is asked, so that a
//! status never waits for a name server.

use std::fs;
use std::net::{IpAddr, Ipv6Addr};

use super::super::Error;
use crate::control::lab2::Status;

/// The names in both files.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_mac: Vec<([u8; 6], String)>,
    by_ip: Vec<(Ipv6Addr, String)>,
}

impl Names {
    /// Reads the names of this machine; a file that cannot be read has none.
    pub(super) fn read() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::parse(&read("/etc/ethers"), &read("/etc/hosts"))
    }

    fn parse(ethers: &str, hosts: &str) -> Self {
        let mac = |(mac, name): (&str, &str)| {
            let is_name = name.parse::<IpAddr>().is_err();
            Some((parse_mac(mac)?, name.to_owned())).filter(|_| is_name)
        };
        let ip = |(ip, name): (&str, &str)| Some((mapped(ip.parse().ok()?), name.to_owned()));
        Self {
            by_mac: entries(ethers).filter_map(mac).collect(),
            by_ip: entries(hosts).filter_map(ip).collect(),
        }
    }

    /// Fills in the names of a status's members.
    pub(super) fn give_to(&self, status: &mut Status) {
        for member in &mut status.members {
            let ip = member.ip.as_deref().and_then(|ip| ip.parse().ok());
            member.name = self.of(parse_mac(&member.mac), ip.map(mapped)).cloned();
        }
    }

    fn of(&self, mac: Option<[u8; 6]>, ip: Option<Ipv6Addr>) -> Option<&String> {
        let by_mac = self.by_mac.iter().find(|(known, _)| Some(*known) == mac);
        let by_ip = || self.by_ip.iter().find(|(known, _)| Some(*known) == ip);
        let by_mac = by_mac.map(|(_, name)| name);
        by_mac.or_else(|| by_ip().map(|(_, name)| name))
    }
}

/// Whether this can only be a name: the daemon knows addresses itself.
pub(super) fn is_name(text: &str) -> bool {
    parse_mac(text).is_none() && text.parse::<IpAddr>().is_err()
}

/// Returns the MAC of the member that a status, with names, shows under this name.
///
/// # Errors
/// There is no such member, or more than one.
pub(super) fn member_called(name: &str, status: &Status) -> Result<String, Error> {
    let is_called = |it: &Option<String>| {
        it.as_ref()
            .is_some_and(|known| known.eq_ignore_ascii_case(name))
    };
    let mut called = status.members.iter().filter(|it| is_called(&it.name));
    match (called.next(), called.next()) {
        (Some(member), None) => Ok(member.mac.clone()),
        (None, _) => Err(Error::NoMember(name.to_owned())),
        (Some(_), Some(_)) => Err(Error::SeveralMembers(name.to_owned())),
    }
}

/// Returns the first two words of each line that has them.
fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        Some((words.next()?, words.next()?))
    })
}

/// Parses six numbers of one or two hexadecimal digits, as both files and people write them.
fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, is_name, mapped, parse_mac};

    #[test]
    fn a_member_is_called_as_ethers_has_it_or_else_hosts() {
        let ethers = "2:0:0:0:0:1 left # by the door\n02:00:00:00:00:02 10.0.0.2\nx y\n";
        let hosts = "127.0.0.1 localhost\n10.0.0.2\tmiddle.lab middle\nfe80::3 right\n#10.0.0.4 no";
        let names = Names::parse(ethers, hosts);
        let of = |mac, ip: &str| {
            let name = names.of(parse_mac(mac), ip.parse().ok().map(mapped));
            name.map(String::as_str)
        };
        assert_eq!(of("02:00:00:00:00:01", "10.0.0.2"), Some("left"));
        assert_eq!(of("02:00:00:00:00:02", "10.0.0.2"), Some("middle.lab"));
        assert_eq!(of("02:00:00:00:00:03", "fe80::3"), Some("right"));
        assert_eq!(of("02:00:00:00:00:04", "10.0.0.4"), None);
        assert_eq!(of("02:00:00:00:00:05", "none"), None);
    }

    #[test]
    fn addresses_are_no_names() {
        for name in ["left", "middle.lab", "02:00:00:00:00:00:01", "face:b00k"] {
            assert!(is_name(name), "{name}");
        }
        for address in ["02:00:00:00:00:01", "2-0-0-0-0-1", "10.0.0.1", "fe80::1"] {
            assert!(!is_name(address), "{address}");
        }
    }
}
