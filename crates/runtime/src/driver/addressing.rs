//! Addresses of the messages that an [`Authenticated`](super::Authenticated) link carries.

use std::net::{IpAddr, SocketAddr};

use ring_codec::MacAddr;
use ring_trust::{Destination, KeyId, Origin, PseudoHeader};

/// Addresses of a link's messages.
pub trait Addressing {
    /// Address that the link uses.
    type Peer: Copy;
    /// Address of a sender.
    type Address: Copy + Ord;

    /// Whether a node without keys must remove the signatures of received messages. This is necessary if the machine
    /// refuses a message with additional bytes at its end.
    const REMOVES_TRAILERS: bool;

    /// Returns the sender of a message. Returns `None` if the message is too short to contain the address of its
    /// sender.
    fn origin(&self, message: &[u8], from: Self::Peer) -> Option<Origin<Self::Address>>;

    /// Returns the nodes that receive a message to the peer `to`.
    fn destination(&self, to: Self::Peer) -> Destination<Self::Address>;

    /// Whether the machine may get this message. `key` is the key of the sender. `None` means that the message has no
    /// proof.
    fn permits(&mut self, _sender: Self::Address, _key: Option<KeyId>, _message: &[u8]) -> bool {
        true
    }

    /// Returns the address that the link uses for a sender.
    fn peer(&self, address: Self::Address) -> Self::Peer;

    /// Writes the header of a message to an address. Returns the length of the header, and the addresses that the MAC
    /// covers although the message does not contain them.
    fn write_header(&self, to: Self::Address, buffer: &mut [u8]) -> (usize, PseudoHeader);
}

/// Addresses of Ethernet frames. The frames contain these addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameAddressing {
    /// Address of this node.
    pub mac: MacAddr,
    /// EtherType of the frames.
    pub ethertype: u16,
}

impl Addressing for FrameAddressing {
    type Peer = ();
    type Address = MacAddr;

    // The decoders of frames ignore bytes after the end of the message.
    const REMOVES_TRAILERS: bool = false;

    fn origin(&self, frame: &[u8], (): ()) -> Option<Origin<MacAddr>> {
        let source = frame.get(size_of::<MacAddr>()..)?.first_chunk()?;
        Some(Origin::of_frame(MacAddr(*source)))
    }

    fn destination(&self, (): ()) -> Destination<MacAddr> {
        Destination::FRAME
    }

    fn peer(&self, _address: MacAddr) {}

    fn write_header(&self, to: MacAddr, buffer: &mut [u8]) -> (usize, PseudoHeader) {
        let header = [&to.0[..], &self.mac.0, &self.ethertype.to_be_bytes()];
        let mut len = 0;
        for field in header {
            buffer[len..][..field.len()].copy_from_slice(field);
            len += field.len();
        }
        (len, PseudoHeader::FRAME)
    }
}

/// Addresses of datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatagramAddressing {
    own: SocketAddr,
    broadcast: Option<IpAddr>,
    servers: Option<Vec<SocketAddr>>,
}

impl DatagramAddressing {
    /// Creates the addressing of a node that sends from `own`. If the node sent from a different address, its
    /// signatures would be wrong. All peers sign with keys of the ring.
    pub fn new(own: SocketAddr) -> Self {
        Self {
            own,
            broadcast: None,
            servers: None,
        }
    }

    /// Sets the broadcast address: datagrams to this address go to all nodes. Datagrams to multicast groups always go
    /// to all nodes.
    #[must_use]
    pub fn with_broadcast(mut self, broadcast: IpAddr) -> Self {
        self.broadcast = Some(broadcast);
        self
    }

    /// Sets the addresses of the servers. Senders at these addresses must sign with keys of the ring. All other senders
    /// may sign with client keys.
    #[must_use]
    pub fn with_servers(mut self, servers: Vec<SocketAddr>) -> Self {
        self.servers = Some(servers);
        self
    }

    fn is_client(&self, peer: SocketAddr) -> bool {
        let servers = self.servers.as_ref();
        servers.is_some_and(|servers| !servers.contains(&peer))
    }
}

impl Addressing for DatagramAddressing {
    type Peer = SocketAddr;
    type Address = SocketAddr;

    const REMOVES_TRAILERS: bool = true;

    fn origin(&self, _datagram: &[u8], from: SocketAddr) -> Option<Origin<SocketAddr>> {
        Some(Origin {
            address: from,
            header: PseudoHeader::new(from, self.own),
            is_client: self.is_client(from),
        })
    }

    fn destination(&self, to: SocketAddr) -> Destination<SocketAddr> {
        let is_to_all = to.ip().is_multicast() || self.broadcast == Some(to.ip());
        Destination {
            header: if is_to_all {
                PseudoHeader::to_all(self.own)
            } else {
                PseudoHeader::new(self.own, to)
            },
            client: self.is_client(to).then_some(to),
        }
    }

    fn peer(&self, address: SocketAddr) -> SocketAddr {
        address
    }

    fn write_header(&self, to: SocketAddr, _buffer: &mut [u8]) -> (usize, PseudoHeader) {
        (0, PseudoHeader::new(self.own, to))
    }
}
