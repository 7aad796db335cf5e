//! Looking a network interface up.
#![allow(
    unsafe_code,
    reason = "the MTU is asked for with an ioctl: no library tells it"
)]

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{LinkAddr, SockaddrStorage};
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
        // RUNNING alone is late to see that the carrier is gone; LOWER_UP alone is early to see it
        // back, while frames are still thrown away.
        let carrier = InterfaceFlags::IFF_RUNNING | InterfaceFlags::IFF_LOWER_UP;
        let addresses = known.iter().filter_map(|known| known.address.as_ref());
        Ok(Some(Self {
            name: name.to_owned(),
            index,
            mac: MacAddr(link.and_then(LinkAddr::addr).unwrap_or_default()),
            ip: preferred(addresses.filter_map(internet)),
            up: flags.contains(InterfaceFlags::IFF_UP),
            carrier: flags.contains(carrier),
            mtu,
            ethernet: link.is_some_and(|link| link.hatype() == libc::ARPHRD_ETHER),
        }))
    }

    /// The names of all interfaces in this network namespace.
    ///
    /// # Errors
    /// The kernel's list of interfaces cannot be read.
    pub fn names() -> io::Result<Vec<String>> {
        let interfaces = getifaddrs()?.filter(|known| link(known).is_some());
        Ok(interfaces.map(|known| known.interface_name).collect())
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
}

/// What is known of an interface itself, if this is no address on it. Some have no hardware address: tunnels.
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

nix::ioctl_read_bad!(ioctl_mtu, libc::SIOCGIFMTU, MtuRequest);

/// An `ifreq`, of whose union the MTU alone is named.
#[repr(C)]
struct MtuRequest {
    name: [u8; libc::IFNAMSIZ],
    mtu: libc::c_int,
    _rest: [u8; REST],
}

const REST: usize = size_of::<libc::ifreq>() - libc::IFNAMSIZ - size_of::<libc::c_int>();

fn mtu(name: &str) -> io::Result<usize> {
    let mut request = MtuRequest {
        name: [0; libc::IFNAMSIZ],
        mtu: 0,
        _rest: [0; REST],
    };
    // No name is longer, and the last byte stays zero and ends it.
    let room = &mut request.name[..libc::IFNAMSIZ - 1];
    for (to, from) in room.iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // The query needs a socket of this network namespace, of whatever family.
    let socket = UnixDatagram::unbound()?;
    // SAFETY: the descriptor is open, and `request` is as long as an `ifreq` and has a terminated name; what
    // the kernel writes into it is integers.
    unsafe { ioctl_mtu(socket.as_raw_fd(), &raw mut request) }?;
    Ok(usize::try_from(request.mtu).unwrap_or(0))
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
