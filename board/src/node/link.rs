//! The node's sockets. The sockets use the address in the node's line of the list.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_host::UdpSlot;
use ring_host::trust::Trust;
use ring_runtime::driver::{
    Authenticated, Connections, DatagramAddressing, Encrypted, JoinedLink, Signer, datagrams,
};
use ring_runtime::net::{TcpNetwork, TcpOptions, UdpOptions};

use crate::options::SYSTEM;

/// Maximum number of connections. The state machine needs up to 22 connections. In 16 of the 22 connections, the peer
/// has not sent its hello. Two connections belong to the ring, and two more replace them. Four connections test the
/// network. The rest of the maximum is for connections that are closing, and whose last bytes are not sent yet.
const CONNECTIONS_MAX: u16 = 64;
/// The size of the kernel's receive buffer. The buffer is large because all nodes of a list may send to the coordinator
/// at once.
const RECEIVE_BUFFER_BYTES: usize = 1 << 20;

/// Sockets for datagrams and for connections. The connections work even while no datagrams can be sent.
pub(super) type Sockets = JoinedLink<Datagrams, Streams>;

/// Encrypted connections between nodes.
pub(super) type Streams = Connections<Encrypted<TcpNetwork>, SocketAddr>;

/// The socket for datagrams, and the keys that sign them.
type Datagrams = Authenticated<UdpSlot, DatagramAddressing>;

/// Binds an address for datagrams and connections. If a peer is silent for `liveness`, the node closes its connection.
///
/// # Errors
/// If a socket cannot be bound, returns the name of the socket's protocol, and the kernel's error.
pub(super) fn bind(
    address: SocketAddr,
    liveness: Duration,
) -> Result<Sockets, (&'static str, io::Error)> {
    let udp = UdpOptions {
        receive_buffer: Some(RECEIVE_BUFFER_BYTES),
        ..UdpOptions::default()
    };
    let datagrams = UdpSlot::bind(address, udp).map_err(|error| ("UDP", error))?;
    let tcp = TcpOptions {
        // Connections must come from this address, because peers compare it with the list.
        own_address: true,
        liveness: Some(liveness),
        ..TcpOptions::default()
    };
    let network = TcpNetwork::listen(address, tcp).map_err(|error| ("TCP", error))?;
    let network = Encrypted::new(network, SYSTEM);
    Ok(JoinedLink {
        datagrams: Authenticated::new(datagrams, None),
        streams: Connections::new(network, CONNECTIONS_MAX),
    })
}

/// Gives keys to the sockets, and logs them. The proofs of the nodes' processes stay.
///
/// # Errors
/// Fails if the kernel has no random source. Then the keys stay the same.
pub(super) fn set_trust(sockets: &mut Sockets, trust: &Trust) -> Result<(), String> {
    let own = sockets.datagrams.link().address();
    trust.apply(&mut sockets.datagrams, |authenticator| {
        let transmit = datagrams::transmit_batch(datagrams::MAX_DATAGRAM);
        Signer::new(authenticator, DatagramAddressing::new(own), transmit)
    })?;
    sockets.streams.network_mut().set_keys(trust.stream_keys());
    Ok(())
}
