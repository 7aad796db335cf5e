//! Names of machines. `/etc/ethers` contains a name for each MAC address, and `/etc/hosts` a name for each IP address.
//! This module uses only these two files, so that it never waits for a name server.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr};

/// The names in both files.
#[derive(Debug, Default)]
pub struct Names {
    by_mac: Vec<([u8; 6], String)>,
    by_ip: Vec<(Ipv6Addr, String)>,
}

impl Names {
    /// Reads both files. An unreadable file counts as a file without names.
    pub fn read() -> Self {
        let mut names = Self::default();
        names.refresh();
        names
    }

    /// Reads both files again. If this process may not read a file, keeps the names that it read before. This can
    /// happen after an editor has replaced the file, because the sandbox of a daemon permits only the replaced file.
    pub fn refresh(&mut self) {
        let read = |path| match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
            read => Some(read.unwrap_or_default()),
        };
        let (ethers, hosts) = (read("/etc/ethers"), read("/etc/hosts"));
        let new = Self::parse(
            ethers.as_deref().unwrap_or_default(),
            hosts.as_deref().unwrap_or_default(),
        );
        if ethers.is_some() {
            self.by_mac = new.by_mac;
        }
        if hosts.is_some() {
            self.by_ip = new.by_ip;
        }
    }

    fn parse(ethers: &str, hosts: &str) -> Self {
        let mac = |(mac, name): (&str, &str)| {
            let is_name = name.parse::<IpAddr>().is_err();
            Some((parse_mac(mac)?, name.to_owned())).filter(|_| is_name)
        };
        let ip = |(ip, name): (&str, &str)| Some((to_ipv6(ip.parse().ok()?), name.to_owned()));
        Self {
            by_mac: entries(ethers).filter_map(mac).collect(),
            by_ip: entries(hosts).filter_map(ip).collect(),
        }
    }

    /// Returns the name of the machine that has this MAC address. If the MAC address has no name, returns the name of
    /// the machine that has this IP address.
    pub fn of_machine(&self, mac: [u8; 6], ip: Option<IpAddr>) -> Option<&str> {
        let by_mac = self.by_mac.iter().find(|(known, _)| *known == mac);
        by_mac
            .map(|(_, name)| name.as_str())
            .or_else(|| self.of_ip(ip?))
    }

    /// Returns the name of a machine with this IP address.
    pub fn of_ip(&self, ip: IpAddr) -> Option<&str> {
        let ip = to_ipv6(ip);
        let by_ip = self.by_ip.iter().find(|(known, _)| *known == ip);
        by_ip.map(|(_, name)| name.as_str())
    }
}

/// Parses a MAC address: six numbers of one or two hexadecimal digits.
pub fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// Returns the first two words of each line that has at least two words.
fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        Some((words.next()?, words.next()?))
    })
}

fn to_ipv6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, parse_mac};

    #[test]
    fn names_in_ethers_come_before_those_in_hosts() {
        let ethers = "2:0:0:0:0:1 left # by the door\n02:00:00:00:00:02 10.0.0.2\nx y\n";
        let hosts = "127.0.0.1 localhost\n10.0.0.2\tmiddle.lab middle\nfe80::3 right\n#10.0.0.4 no";
        let names = Names::parse(ethers, hosts);
        let of = |mac, ip: &str| {
            let mac = parse_mac(mac).expect("it is one");
            names.of_machine(mac, ip.parse().ok())
        };
        assert_eq!(of("02:00:00:00:00:01", "10.0.0.2"), Some("left"));
        assert_eq!(of("02:00:00:00:00:02", "10.0.0.2"), Some("middle.lab"));
        assert_eq!(of("02:00:00:00:00:03", "fe80::3"), Some("right"));
        assert_eq!(of("02:00:00:00:00:04", "10.0.0.4"), None);
        assert_eq!(of("02:00:00:00:00:05", "none"), None);
    }
}
