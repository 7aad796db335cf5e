//! Looking a network interface up.
#![allow(
    unsafe_code,
    reason = "the MTU and the hardware type are asked for with ioctls"
)]

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use pnet::datalink::{self, NetworkInterface};
use ring_codec::MacAddr;
use ring_proto::LinkState;

/// A network interface as it was when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number in this network namespace; another one once it was removed and made anew.
    pub index: u32,
    /// Its hardware address.
    pub mac: MacAddr,
    /// Its first IPv4 address, mapped; else its first global IPv6 address, else its first
    /// link-local one, else `::`.
    pub ip: [u8; 16],
    /// Whether the administrator has set it up.
    pub up: bool,
    /// Whether its carrier is there and the kernel sends frames through it.
    pub carrier: bool,
    /// The longest payload of a frame, in bytes.
    pub mtu: usize,
    /// Whether it carries Ethernet frames.
    pub ethernet: bool,
}

impl Interface {
    /// The interface called `name` in this network namespace; `None` if there is none.
    ///
    /// # Errors
    /// The kernel's list of interfaces cannot be read.
    pub fn find(name: &str) -> io::Result<Option<Self>> {
        let Some(found) = all()?.into_iter().find(|found| found.name == name) else {
            return Ok(None);
        };
        match Self::look_up(found) {
            Ok(interface) => Ok(Some(interface)),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names of all interfaces in this network namespace.
    ///
    /// # Errors
    /// The kernel's list of interfaces cannot be read.
    pub fn names() -> io::Result<Vec<String>> {
        Ok(all()?.into_iter().map(|found| found.name).collect())
    }

    /// The interface as the machines see it: down unless frames can be sent.
    #[must_use]
    pub fn link_state(&self) -> LinkState {
        if self.up && self.carrier {
            LinkState::Up {
                mac: self.mac,
                ip: self.ip,
                mtu: self.mtu,
            }
        } else {
            LinkState::Down
        }
    }

    fn look_up(found: NetworkInterface) -> io::Result<Self> {
        // The queries need a socket of this network namespace, of whatever family.
        let socket = UnixDatagram::unbound()?;
        let mtu = mtu(&socket, &found.name)?;
        let ethernet = hardware_type(&socket, &found.name)? == libc::ARPHRD_ETHER;
        let mac = mac_address::mac_address_by_name(&found.name).map_err(io::Error::other)?;
        // RUNNING alone is late to see that the carrier is gone; LOWER_UP alone is early to see it
        // back, while frames are still thrown away.
        let carrier = libc::IFF_RUNNING | libc::IFF_LOWER_UP;
        let has = |flags: libc::c_int| found.flags & flags.cast_unsigned() == flags.cast_unsigned();
        Ok(Self {
            index: found.index,
            mac: MacAddr(mac.map_or([0; 6], mac_address::MacAddress::bytes)),
            ip: preferred(found.ips.iter().map(pnet::ipnetwork::IpNetwork::ip)),
            up: has(libc::IFF_UP),
            carrier: has(carrier),
            mtu,
            ethernet,
            name: found.name,
        })
    }
}

fn all() -> io::Result<Vec<NetworkInterface>> {
    let all = datalink::interfaces();
    if all.is_empty() {
        // Every namespace has a loopback interface: none means that the kernel was not asked.
        return Err(io::Error::other(
            "the kernel's list of network interfaces cannot be read",
        ));
    }
    Ok(all)
}

/// The address that the protocols carry: see [`Interface::ip`].
fn preferred(ips: impl Iterator<Item = IpAddr>) -> [u8; 16] {
    let rank = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => 0,
        IpAddr::V6(ip) if !ip.is_unicast_link_local() => 1,
        IpAddr::V6(_) => 2,
    };
    // The first of equals: `min_by_key` keeps it.
    ips.min_by_key(rank).map_or([0; 16], |ip| match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    })
}

nix::ioctl_read_bad!(ioctl_mtu, libc::SIOCGIFMTU, libc::ifreq);
nix::ioctl_read_bad!(ioctl_hardware_address, libc::SIOCGIFHWADDR, libc::ifreq);

fn mtu(socket: &UnixDatagram, name: &str) -> io::Result<usize> {
    let mut request = request(name)?;
    // SAFETY: the descriptor is open and `request` is a whole `ifreq` with a terminated name.
    unsafe { ioctl_mtu(socket.as_raw_fd(), &raw mut request) }?;
    // SAFETY: a successful SIOCGIFMTU has written this member.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(usize::try_from(mtu).unwrap_or(0))
}

fn hardware_type(socket: &UnixDatagram, name: &str) -> io::Result<u16> {
    let mut request = request(name)?;
    // SAFETY: the descriptor is open and `request` is a whole `ifreq` with a terminated name.
    unsafe { ioctl_hardware_address(socket.as_raw_fd(), &raw mut request) }?;
    // SAFETY: a successful SIOCGIFHWADDR has written this member; its family is the ARPHRD type.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

/// An interface request about `name`.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` is integers and a union of plain data: all zeroes is a value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero and ends the name.
    let room = request.ifr_name.len() - 1;
    if name.len() > room {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::preferred;

    fn prefer(ips: &[&str]) -> String {
        let ips = ips.iter().map(|ip| ip.parse().expect("an address"));
        std::net::Ipv6Addr::from(preferred(ips)).to_string()
    }

    #[test]
    fn an_ipv4_address_is_preferred_and_mapped() {
        let ips = ["fe80::1", "2001:db8::1", "192.0.2.1", "192.0.2.2"];
        assert_eq!(prefer(&ips), "::ffff:192.0.2.1");
    }

    #[test]
    fn a_global_ipv6_address_comes_before_a_link_local_one() {
        assert_eq!(
            prefer(&["fe80::1", "2001:db8::1", "2001:db8::2"]),
            "2001:db8::1"
        );
        assert_eq!(prefer(&["fe80::1"]), "fe80::1");
    }

    #[test]
    fn no_address_is_the_unspecified_one() {
        assert_eq!(prefer(&[]), "::");
    }
}
