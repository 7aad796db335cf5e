//! The node's sockets, at the address of its line.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_host::UdpSlot;
use ring_runtime::driver::{Connections, Joined};
use ring_runtime::net::{TcpNetwork, TcpOptions, UdpOptions};

/// 16 that have not said hello, the two of the ring and what replaces them, four that look for proof of the network, and those
/// whose last bytes are still to be written: the machine needs 22.
const CONNECTIONS: u16 = 64;
/// What the kernel is asked to keep of datagrams: all nodes of a list may speak to the coordinator at once.
const BUFFER: usize = 1 << 20;

/// Datagrams, which may be lost for a while, and connections, which go on meanwhile.
pub(super) type Sockets = Joined<UdpSlot, Connections<TcpNetwork, SocketAddr>>;

/// Binds an address, for datagrams and connections. A peer that is silent for `liveness` is given up.
///
/// # Errors
/// What for, and what the kernel says.
pub(super) fn bind(
    address: SocketAddr,
    liveness: Duration,
) -> Result<Sockets, (&'static str, io::Error)> {
    let udp = UdpOptions {
        receive_buffer: Some(BUFFER),
        ..UdpOptions::default()
    };
    let datagrams = UdpSlot::bind(address, udp).map_err(|error| ("UDP", error))?;
    let tcp = TcpOptions {
        // Peers compare it with the list.
        own_address: true,
        liveness: Some(liveness),
        ..TcpOptions::default()
    };
    let network = TcpNetwork::listen(address, tcp).map_err(|error| ("TCP", error))?;
    Ok(Joined {
        datagrams,
        streams: Connections::new(network, CONNECTIONS),
    })
}
