//! What a node is told of its network, and who is on its segment (`docs/jitterbug.md`, section 1).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// All nodes of an IPv6 link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// Subnets of longer prefixes have neither a network nor a broadcast address.
const LONGEST_WITH_BROADCAST: u8 = 30;

/// What the network is like just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    /// The interface is down, or has no address.
    Down,
    /// Datagrams and connections are possible.
    Up(Network),
}

/// The node's place in its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Its own address: IPv4, or IPv6 and link-local.
    pub address: IpAddr,
    /// How many leading bits its IPv4 subnet has; of no meaning with IPv6.
    pub prefix: u8,
    /// The number of the interface, by which IPv6 peers are reached.
    pub scope: u32,
    /// The port that its TCP listener is bound to, not 0.
    pub tcp_port: u16,
}

impl Network {
    fn mask(&self) -> u32 {
        u32::MAX
            .checked_shl(u32::from(32_u8.saturating_sub(self.prefix)))
            .unwrap_or_default()
    }

    /// Where a datagram for all nodes goes.
    pub(super) fn everybody(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(_) if self.prefix > LONGEST_WITH_BROADCAST => Ipv4Addr::BROADCAST.into(),
            IpAddr::V4(own) => Ipv4Addr::from_bits(own.to_bits() | !self.mask()).into(),
            IpAddr::V6(_) => ALL_NODES.into(),
        }
    }

    /// Whether a node of this segment can have this address.
    pub(super) fn is_on_link(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let (own, other, mask) = (own.to_bits(), other.to_bits(), self.mask());
                let is_host = self.prefix > LONGEST_WITH_BROADCAST
                    || (other & !mask != 0 && other | mask != u32::MAX);
                own & mask == other & mask && is_host
            }
            (IpAddr::V6(_), IpAddr::V6(other)) => other.is_unicast_link_local(),
            _ => false,
        }
    }

    /// Where a port of an address is reached from here.
    pub(super) fn reach(&self, address: IpAddr, port: u16) -> SocketAddr {
        match address {
            IpAddr::V4(_) => SocketAddr::new(address, port),
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, self.scope).into(),
        }
    }
}
