//! The senders and the receivers of messages. The MAC of a datagram also covers the addresses of its sender and its
//! receiver.

use std::net::{IpAddr, SocketAddr};

use crate::trailer::Kind;

/// Length of an address and a port.
const ADDRESS_LEN: usize = 18;

/// The addresses of a message that the message itself does not contain. The MAC also covers these addresses. So a
/// message is invalid if an attacker sends it from a different address or to a different receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PseudoHeader {
    bytes: [u8; 2 * ADDRESS_LEN],
    len: usize,
}

impl PseudoHeader {
    /// The pseudo-header of a frame, which contains its addresses.
    pub const FRAME: Self = Self {
        bytes: [0; 2 * ADDRESS_LEN],
        len: 0,
    };

    /// Returns the pseudo-header of a datagram from one node to one node.
    pub fn new(from: SocketAddr, to: SocketAddr) -> Self {
        let mut header = Self::to_all(from);
        header.push(to);
        header
    }

    /// Returns the pseudo-header of a datagram to all nodes, by broadcast or multicast.
    pub fn to_all(from: SocketAddr) -> Self {
        let mut header = Self::FRAME;
        header.push(from);
        header
    }

    /// Returns the kind of a protocol message with these addresses: to one node or to all nodes.
    pub(crate) fn message_kind(&self) -> Kind {
        match self.len {
            ADDRESS_LEN => Kind::MessageToAll,
            _ => Kind::Message,
        }
    }

    /// Returns the bytes of the addresses that the MAC covers for a message of this kind. Returns `None` if a message
    /// with these addresses cannot have this kind.
    #[inline]
    pub(crate) fn covered(&self, kind: Kind) -> Option<&[u8]> {
        match (kind, self.len) {
            (Kind::MessageToAll, 0) => None,
            (Kind::MessageToAll, _) => Some(&self.bytes[..ADDRESS_LEN]),
            (Kind::Message | Kind::Challenge | Kind::Answer, len) => Some(&self.bytes[..len]),
        }
    }

    fn push(&mut self, address: SocketAddr) {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let (ip_bytes, port_bytes) = self.bytes[self.len..][..ADDRESS_LEN].split_at_mut(16);
        ip_bytes.copy_from_slice(&ip.octets());
        port_bytes.copy_from_slice(&address.port().to_be_bytes());
        self.len += ADDRESS_LEN;
    }
}

/// The sender of a received message.
#[derive(Debug, Clone, Copy)]
pub struct Origin<A> {
    /// Address of the sender.
    pub address: A,
    /// Addresses that the message does not contain.
    pub header: PseudoHeader,
    /// Whether the sender may sign with a client key.
    pub is_client: bool,
}

impl<A> Origin<A> {
    /// Returns the origin of a frame.
    pub fn of_frame(address: A) -> Self {
        Self {
            address,
            header: PseudoHeader::FRAME,
            is_client: false,
        }
    }
}

/// The receivers of a message.
#[derive(Debug, Clone, Copy)]
pub struct Destination<A> {
    /// Addresses that the message does not contain.
    pub header: PseudoHeader,
    /// Address of the receiver if it may be a client; otherwise `None`.
    pub client: Option<A>,
}

impl<A> Destination<A> {
    /// The destination of a frame.
    pub const FRAME: Self = Self {
        header: PseudoHeader::FRAME,
        client: None,
    };
}
