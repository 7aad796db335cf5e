//! The node's sockets, at the address of its line.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::time::Instant;
use ringd::driver::{Connections, Joined};
use ringd::sys::{TcpNetwork, TcpOptions, UdpLink, UdpOptions};
use tracing::{info, warn};

/// The time between two attempts to bind the datagrams' socket anew.
const RETRY: Duration = Duration::from_secs(1);
/// 16 that have not said hello, the two of the ring and what replaces them, four that look for proof of the network, and those
/// whose last bytes are still to be written: the machine needs 22.
const CONNECTIONS: u16 = 64;
/// What the kernel is asked to keep of datagrams: all nodes of a list may speak to the coordinator at once.
const BUFFER: usize = 1 << 20;

/// Datagrams, which may be lost for a while, and connections.
pub type Sockets = Joined<Option<UdpLink>, Connections<TcpNetwork, SocketAddr>>;

/// Datagrams that the machine never saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// They came faster than this process reads.
    pub kernel: u64,
    /// They were longer than any message.
    pub cut: u64,
}

/// The sockets of a node.
#[derive(Debug)]
pub struct NodeLink {
    address: SocketAddr,
    sockets: Sockets,
    /// The loop does not wait yet for the datagrams' socket.
    is_new: bool,
    retry: Option<Instant>,
    /// What sockets before this one have dropped.
    earlier: Drops,
}

impl NodeLink {
    /// Binds an address, for datagrams and connections. A peer that is silent for `liveness` is given up.
    ///
    /// # Errors
    /// What for, and what the kernel says.
    pub fn bind(
        address: SocketAddr,
        liveness: Duration,
    ) -> Result<Self, (&'static str, io::Error)> {
        let datagrams = bind(address).map_err(|error| ("UDP", error))?;
        let options = TcpOptions {
            // Peers compare it with the list.
            own_address: true,
            liveness: Some(liveness),
            ..TcpOptions::default()
        };
        let network = TcpNetwork::listen(address, options).map_err(|error| ("TCP", error))?;
        Ok(Self {
            address,
            sockets: Joined {
                datagrams: Some(datagrams),
                streams: Connections::new(network, CONNECTIONS),
            },
            is_new: true,
            retry: None,
            earlier: Drops::default(),
        })
    }

    /// Its address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The sockets.
    pub const fn sockets(&mut self) -> &mut Sockets {
        &mut self.sockets
    }

    /// Whether datagrams can be sent and received.
    pub const fn is_up(&self) -> bool {
        self.sockets.datagrams.is_some()
    }

    /// What was dropped before the machine saw it.
    pub fn drops(&mut self) -> Drops {
        let datagrams = self.sockets.datagrams.as_mut();
        let now = datagrams.map_or_else(Drops::default, |socket| Drops {
            // Receiving shows that a socket is broken.
            kernel: socket.kernel_drops().unwrap_or(0),
            cut: socket.cut(),
        });
        Drops {
            kernel: self.earlier.kernel + now.kernel,
            cut: self.earlier.cut + now.cut,
        }
    }

    /// Receiving datagrams has failed: their socket is closed, to be bound anew after a pause. Connections go on.
    pub fn fail(&mut self, now: Instant, error: &io::Error) {
        let address = self.address;
        warn!(
            event = "link_failed", %address,
            "cannot receive at {address}: {error}; trying again every {RETRY:?}"
        );
        self.earlier = self.drops();
        self.sockets.datagrams = None;
        self.retry = Some(now + RETRY);
    }

    /// When to call [`look`](Self::look) at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// Binds the datagrams' socket anew if it is time. Returns whether the loop has to wait for it.
    pub fn look(&mut self, now: Instant) -> bool {
        if self.retry.is_some_and(|retry| retry <= now) {
            self.retry = None;
            match bind(self.address) {
                Ok(socket) => {
                    let address = self.address;
                    info!(event = "link_up", %address, "{address} can be used again");
                    self.sockets.datagrams = Some(socket);
                    self.is_new = true;
                }
                Err(_) => self.retry = Some(now + RETRY),
            }
        }
        std::mem::take(&mut self.is_new)
    }
}

fn bind(address: SocketAddr) -> io::Result<UdpLink> {
    let options = UdpOptions {
        receive_buffer: Some(BUFFER),
        ..UdpOptions::default()
    };
    UdpLink::bind(address, &options)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::{NodeLink, RETRY};

    #[test]
    fn datagrams_that_fail_are_bound_again_after_a_pause_and_connections_stay() {
        let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address: SocketAddr = free.local_addr().unwrap();
        drop(free);
        let mut link = NodeLink::bind(address, Duration::from_secs(3)).unwrap();
        let at = Instant::default() + RETRY;
        assert!(link.look(at), "it is told once");
        assert!(!link.look(at) && link.is_up() && link.deadline().is_none());
        link.fail(at, &io::Error::from(io::ErrorKind::NetworkDown));
        assert!(!link.is_up() && !link.look(at));
        assert_eq!(link.deadline(), Some(at + RETRY));
        let other = UdpSocket::bind(address).unwrap();
        assert!(!link.look(at + RETRY), "somebody has the port");
        assert!(TcpStream::connect(address).is_ok());
        drop(other);
        assert!(link.look(at + RETRY * 2) && link.is_up());
        assert_eq!(link.deadline(), None);
    }
}
