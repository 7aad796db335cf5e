//! The network of a node, and the addresses of its segment (`docs/jitterbug/protocol/addresses.md` A3 to A6).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The multicast address of all nodes on an IPv6 link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// For longer prefixes, a subnet has neither a network address nor a broadcast address.
const BROADCAST_PREFIX_MAX: u8 = 30;

/// The state of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkState {
    /// The interface is down, or has no address.
    Down,
    /// Datagrams and connections are possible.
    Up(Network),
}

/// The place of the node in its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// The node's address: IPv4, or IPv6 and link-local.
    pub address: IpAddr,
    /// The length of the IPv4 subnet's prefix. The prefix has no meaning with IPv6.
    pub prefix: u8,
    /// The number of the interface. IPv6 addresses of peers need this number.
    pub scope: u32,
    /// The port of the node's TCP listener, not 0.
    pub tcp_port: u16,
}

impl Network {
    fn mask(&self) -> u32 {
        // With a prefix of 0 the shift has all 32 bits, which overflows.
        u32::MAX
            .checked_shl(u32::from(32_u8.saturating_sub(self.prefix)))
            .unwrap_or_default()
    }

    /// Returns the destination of datagrams to all nodes.
    pub fn everybody(&self) -> IpAddr {
        match self.address {
            // The limited broadcast reaches the link without a broadcast address of the subnet.
            IpAddr::V4(_) if self.prefix > BROADCAST_PREFIX_MAX => Ipv4Addr::BROADCAST.into(),
            IpAddr::V4(own) => Ipv4Addr::from_bits(own.to_bits() | !self.mask()).into(),
            IpAddr::V6(_) => ALL_NODES.into(),
        }
    }

    /// Whether a node of this segment can have this address.
    pub(super) fn is_on_link(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let (own, other, mask) = (own.to_bits(), other.to_bits(), self.mask());
                // The network address and the broadcast address belong to no node.
                let is_host = self.prefix > BROADCAST_PREFIX_MAX
                    || (other & !mask != 0 && other | mask != u32::MAX);
                own & mask == other & mask && is_host
            }
            // A router forwards no link-local address, so its sender is on the link.
            (IpAddr::V6(_), IpAddr::V6(other)) => other.is_unicast_link_local(),
            _ => false,
        }
    }

    /// Returns the socket address of a peer.
    pub(super) fn reach(&self, address: IpAddr, port: u16) -> SocketAddr {
        match address {
            IpAddr::V4(_) => SocketAddr::new(address, port),
            // A link-local address is ambiguous without its interface.
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, self.scope).into(),
        }
    }
}
