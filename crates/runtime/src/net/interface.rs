//! Looks up a network interface.
#![allow(unsafe_code, reason = "the MTU needs an ioctl that no library has")]

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{LinkAddr, SockaddrStorage};
use ring_codec::MacAddr;
use ring_proto::LinkState;

use super::altname;

/// A network interface, in its state at the time of the lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these flags of the kernel do not depend on each other"
)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface in this network namespace. An interface that was removed and created again has a new
    /// index.
    pub index: u32,
    /// Hardware address of the interface.
    pub mac: MacAddr,
    /// Preferred address of the interface. The order of preference is: the first IPv4 address (mapped to IPv6), the
    /// first global IPv6 address, the first link-local IPv6 address. An interface without an address has `::`.
    pub ip: [u8; 16],
    /// All addresses of the interface, in the system's order.
    pub addresses: Vec<Address>,
    /// Whether the administrator set the interface up.
    pub up: bool,
    /// Whether the interface has a carrier and the kernel sends frames through the interface.
    pub carrier: bool,
    /// Maximum payload of a frame, in bytes.
    pub mtu: usize,
    /// Whether the interface carries Ethernet frames.
    pub ethernet: bool,
    /// Whether the interface is a port of a bridge, according to the files in `/sys`. A bridge takes all frames that
    /// arrive at its ports.
    pub bridge_port: bool,
}

/// An address of an interface, with the length of its subnet's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Address of the interface.
    pub ip: IpAddr,
    /// Length of the subnet's prefix, in bits.
    pub prefix: u8,
}

impl Address {
    /// Whether `ip` is in the subnet of this address, so that packets to `ip` need no router.
    pub fn is_on_link(&self, ip: IpAddr) -> bool {
        let differs = match (self.ip, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                u128::from(own.to_bits() ^ ip.to_bits()) << (u128::BITS - u32::BITS)
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => own.to_bits() ^ ip.to_bits(),
            _ => return false,
        };
        differs.leading_zeros() >= self.prefix.into()
    }

    /// Returns the IPv4 broadcast address of the subnet. A subnet of one or two addresses (/32, /31) has no broadcast
    /// address.
    pub fn broadcast(&self) -> Option<Ipv4Addr> {
        let (own, host) = self.v4()?;
        Some(Ipv4Addr::from_bits(own | host))
    }

    /// Returns the IPv4 address of the subnet itself. A subnet of one or two addresses (/32, /31) has no such address.
    pub fn network(&self) -> Option<Ipv4Addr> {
        let (own, host) = self.v4()?;
        Some(Ipv4Addr::from_bits(own & !host))
    }

    /// Returns the IPv4 address, and a mask of its host bits. Returns `None` if the address is IPv6 or has fewer than
    /// two host bits.
    fn v4(&self) -> Option<(u32, u32)> {
        let IpAddr::V4(own) = self.ip else {
            return None;
        };
        let host = u32::MAX
            .checked_shr(self.prefix.into())
            .filter(|&host| host > 1)?;
        Some((own.to_bits(), host))
    }
}

impl Interface {
    /// Returns the interface with this name in this network namespace; `None` if there is no such interface.
    ///
    /// # Errors
    /// Fails if the kernel's list of interfaces cannot be read.
    pub fn find(name: &str) -> io::Result<Option<Self>> {
        let known: Vec<_> = getifaddrs()?
            .filter(|known| known.interface_name == name)
            .collect();
        let Some((link, flags)) = known.iter().find_map(link) else {
            return Ok(None);
        };
        let index = match if_nametoindex(name) {
            Err(Errno::ENODEV) => return Ok(None),
            index => index?,
        };
        let mtu = match mtu(name) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            mtu => mtu?,
        };
        // Both flags are necessary. RUNNING shows the loss of a carrier too late. LOWER_UP shows the return of a
        // carrier too early, while the kernel still drops frames.
        let carrier = InterfaceFlags::IFF_RUNNING | InterfaceFlags::IFF_LOWER_UP;
        let addresses = known.iter().filter_map(|known| known.address.as_ref());
        Ok(Some(Self {
            name: name.to_owned(),
            index,
            mac: MacAddr(link.and_then(LinkAddr::addr).unwrap_or_default()),
            ip: choose_ip(addresses.filter_map(internet)),
            addresses: known.iter().filter_map(address).collect(),
            up: flags.contains(InterfaceFlags::IFF_UP),
            carrier: flags.contains(carrier),
            mtu,
            ethernet: link.is_some_and(|link| link.hatype() == libc::ARPHRD_ETHER),
            bridge_port: is_bridge_port(name, index),
        }))
    }

    /// Returns the main name of an interface, which [`find`](Self::find) needs. `name` is the main name or an
    /// alternative name (`ip link property add altname`). Returns `None` if there is no such interface.
    ///
    /// # Errors
    /// Fails if the kernel does not answer.
    pub fn name_of(name: &str) -> io::Result<Option<String>> {
        if Self::names()?.iter().any(|known| known == name) {
            return Ok(Some(name.to_owned()));
        }
        altname::interface_called(name)
    }

    /// Returns the names of all interfaces in this network namespace.
    ///
    /// # Errors
    /// Fails if the kernel's list of interfaces cannot be read.
    pub fn names() -> io::Result<Vec<String>> {
        let interfaces = getifaddrs()?.filter(|known| link(known).is_some());
        Ok(interfaces.map(|known| known.interface_name).collect())
    }

    /// Returns the speed of the interface in Mbit/s. Returns `None` if the files in `/sys` do not contain it.
    pub fn speed(&self) -> Option<u32> {
        let text = fs::read_to_string(format!("/sys/class/net/{}/speed", self.name)).ok()?;
        // Interfaces without a speed show -1, which is not a `u32`.
        text.trim().parse().ok()
    }

    /// Returns the state of the interface for the state machines. If the interface cannot send frames, the state is
    /// down.
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
}

fn is_bridge_port(name: &str, index: u32) -> bool {
    let files = PathBuf::from("/sys/class/net").join(name);
    // The files in `/sys` may belong to another network namespace. Then they contain a different index.
    let text = fs::read_to_string(files.join("ifindex"));
    let is_this = text.is_ok_and(|text| text.trim().parse() == Ok(index));
    is_this && files.join("brport").exists()
}

/// Returns the hardware address and the flags from an entry about an interface; `None` if the entry is about an IP
/// address. Some interfaces, such as tunnels, have no hardware address.
fn link(known: &InterfaceAddress) -> Option<(Option<&LinkAddr>, InterfaceFlags)> {
    let link = match &known.address {
        None => None,
        Some(address) => Some(address.as_link_addr()?),
    };
    Some((link, known.flags))
}

fn internet(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| Some(address.as_sockaddr_in6()?.ip().into()))
}

fn address(known: &InterfaceAddress) -> Option<Address> {
    let ip = internet(known.address.as_ref()?)?;
    let mask = known.netmask.as_ref().and_then(internet)?;
    let prefix = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    let prefix = u8::try_from(prefix).ok()?;
    Some(Address { ip, prefix })
}

/// Selects the address for [`Interface::ip`].
fn choose_ip(ips: impl Iterator<Item = IpAddr>) -> [u8; 16] {
    let rank = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => 0,
        IpAddr::V6(ip) if !ip.is_unicast_link_local() => 1,
        IpAddr::V6(_) => 2,
    };
    // `min_by_key` returns the first of several equal addresses.
    ips.min_by_key(rank).map_or([0; 16], |ip| match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    })
}

nix::ioctl_read_bad!(ioctl_mtu, libc::SIOCGIFMTU, MtuRequest);

/// An `ifreq` in which the union contains only the MTU.
#[repr(C)]
struct MtuRequest {
    name: [u8; libc::IFNAMSIZ],
    mtu: libc::c_int,
    _padding: [u8; PADDING_LEN],
}

const PADDING_LEN: usize = size_of::<libc::ifreq>() - libc::IFNAMSIZ - size_of::<libc::c_int>();

fn mtu(name: &str) -> io::Result<usize> {
    let mut request = MtuRequest {
        name: [0; libc::IFNAMSIZ],
        mtu: 0,
        _padding: [0; PADDING_LEN],
    };
    // No interface has a longer name than this part of the buffer. The last byte stays zero, and ends the name.
    let name_buffer = &mut request.name[..libc::IFNAMSIZ - 1];
    for (to, from) in name_buffer.iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // The query needs a socket of this network namespace, of any family.
    let socket = UnixDatagram::unbound()?;
    // SAFETY: the descriptor is open. `request` is as long as an `ifreq` and has a terminated name; the kernel writes
    // only integers into it.
    unsafe { ioctl_mtu(socket.as_raw_fd(), &raw mut request) }?;
    Ok(usize::try_from(request.mtu).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Address, choose_ip};

    fn address(ip: &str, prefix: u8) -> Address {
        let ip = ip.parse().expect("an address");
        Address { ip, prefix }
    }

    #[test]
    fn a_subnet_has_a_broadcast_address_unless_it_is_too_small() {
        for (ip, prefix, expected) in [
            ("192.0.2.77", 24, Some(("192.0.2.0", "192.0.2.255"))),
            ("192.0.2.77", 30, Some(("192.0.2.76", "192.0.2.79"))),
            ("10.9.0.1", 0, Some(("0.0.0.0", "255.255.255.255"))),
            ("192.0.2.77", 31, None),
            ("192.0.2.77", 32, None),
            ("fe80::1", 64, None),
        ] {
            let it = address(ip, prefix);
            let found = it.network().zip(it.broadcast());
            let found = found.map(|(network, all)| (network.to_string(), all.to_string()));
            let expected = expected.map(|(network, all)| (network.to_owned(), all.to_owned()));
            assert_eq!(found, expected, "{ip}/{prefix}");
        }
    }

    #[test]
    fn the_prefix_tells_which_addresses_are_on_the_link() {
        for (ip, prefix, other, expected) in [
            ("192.0.2.77", 24, "192.0.2.1", true),
            ("192.0.2.77", 24, "192.0.3.1", false),
            ("192.0.2.77", 31, "192.0.2.76", true),
            ("192.0.2.77", 32, "192.0.2.76", false),
            ("192.0.2.77", 0, "8.8.8.8", true),
            ("192.0.2.77", 0, "::1", false),
            ("fe80::1", 64, "fe80::ffff", true),
            ("fe80::1", 64, "fe80:0:0:1::1", false),
        ] {
            let other = other.parse().expect("an address");
            assert_eq!(
                address(ip, prefix).is_on_link(other),
                expected,
                "{ip}/{prefix} {other}"
            );
        }
    }

    fn prefer(ips: &[&str]) -> String {
        let ips = ips.iter().map(|ip| ip.parse().expect("an address"));
        std::net::Ipv6Addr::from(choose_ip(ips)).to_string()
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
