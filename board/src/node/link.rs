//! The node's sockets, at the address of its line.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_host::UdpSlot;
use ring_runtime::driver::{Connections, JoinedLink};
use ring_runtime::net::{TcpNetwork, TcpOptions, UdpOptions};

/// The state machine needs 22: 16 without a hello, the two of the ring and their replacements, and four that look for
/// proof of the network. The rest is for connections whose last bytes are not sent.
const CONNECTIONS_MAX: u16 = 64;
/// The size of the kernel's receive buffer: all nodes of a list may send to the coordinator at once.
const RECEIVE_BUFFER_BYTES: usize = 1 << 20;

/// Sockets for datagrams, which may be unusable for a while, and for connections, which continue meanwhile.
pub(super) type Sockets = JoinedLink<UdpSlot, Connections<TcpNetwork, SocketAddr>>;

/// Binds an address for datagrams and connections. A peer that is silent for `liveness` is given up.
///
/// # Errors
/// Returns the protocol that failed, and the kernel's error.
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
        // Peers compare the address with the list.
        own_address: true,
        liveness: Some(liveness),
        ..TcpOptions::default()
    };
    let network = TcpNetwork::listen(address, tcp).map_err(|error| ("TCP", error))?;
    Ok(JoinedLink {
        datagrams,
        streams: Connections::new(network, CONNECTIONS_MAX),
    })
}
