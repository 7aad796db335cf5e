//! The server's socket: bound, lost, and bound again.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::ftn::server::Net;
use ring_proto::time::Instant;
use tracing::{info, warn};

use crate::sys::{UdpLink, UdpOptions};
use crate::system::complaints::Complaints;

/// The time between two attempts to bind the address anew.
const RETRY: Duration = Duration::from_secs(1);
/// What the kernel is asked to keep for each client, in bytes: after a change of leader all of them send two
/// datagrams at once. The kernel keeps twice what it is asked for, and counts 1,280 bytes for a short datagram.
const A_CLIENT: usize = 1_280;
/// The least that it is asked to keep.
const LEAST: usize = 1 << 20;

/// The socket of a server, at one address.
#[derive(Debug)]
pub struct ServerLink {
    address: SocketAddr,
    options: UdpOptions,
    /// `None`: it was lost.
    socket: Option<UdpLink>,
    /// The machine does not know yet that there is a socket.
    is_new: bool,
    retry: Option<Instant>,
    complaints: Complaints,
    /// What sockets before this one have dropped.
    earlier: Drops,
}

/// Datagrams that the machine never saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// They came faster than this process reads.
    pub kernel: u64,
    /// They were longer than any message.
    pub cut: u64,
}

impl ServerLink {
    /// Binds an address, for so many clients.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bind(address: SocketAddr, clients: usize) -> io::Result<Self> {
        let buffer = Some(
            clients
                .saturating_mul(A_CLIENT)
                .clamp(LEAST, i32::MAX as usize / 2),
        );
        let options = UdpOptions {
            receive_buffer: buffer,
            send_buffer: buffer,
            ..UdpOptions::default()
        };
        let socket = UdpLink::bind(address, &options)?;
        Ok(Self {
            address,
            options,
            socket: Some(socket),
            is_new: true,
            retry: None,
            complaints: Complaints::default(),
            earlier: Drops::default(),
        })
    }

    /// Its address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The socket, while there is one.
    pub const fn socket(&mut self) -> Option<&mut UdpLink> {
        self.socket.as_mut()
    }

    /// Whether datagrams can be sent and received.
    pub const fn is_up(&self) -> bool {
        self.socket.is_some()
    }

    /// How many bytes of datagrams the kernel keeps until they are read, and how many it was asked to keep.
    /// `None`: as many.
    pub fn shortage(&self) -> Option<(usize, usize)> {
        let (has, _) = self.socket.as_ref()?.buffers().ok()?;
        let asked = self.options.receive_buffer?;
        (has < asked).then_some((has, asked))
    }

    /// What was dropped before the machine saw it.
    pub fn drops(&mut self) -> Drops {
        let now = self
            .socket
            .as_mut()
            .map_or_else(Drops::default, |socket| Drops {
                // Receiving shows that a socket is broken.
                kernel: socket.kernel_drops().unwrap_or(0),
                cut: socket.cut(),
            });
        Drops {
            kernel: self.earlier.kernel + now.kernel,
            cut: self.earlier.cut + now.cut,
        }
    }

    /// Receiving has failed: the socket is closed, to be bound anew after a pause.
    pub fn fail(&mut self, now: Instant, error: &io::Error) -> Net {
        let address = self.address;
        warn!(
            event = "link_failed", %address,
            "cannot receive at {address}: {error}; trying again every {RETRY:?}"
        );
        self.earlier = self.drops();
        self.socket = None;
        self.is_new = false;
        self.retry = Some(now + RETRY);
        Net::Down
    }

    /// When to call [`look`](Self::look) at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// Binds the address anew if it is time. Returns the new socket, which the machine must be told of and the
    /// loop has to wait for.
    pub fn look(&mut self, now: Instant) -> Option<&UdpLink> {
        if self.retry.is_some_and(|retry| retry <= now) {
            self.rebind(now);
        }
        if !std::mem::take(&mut self.is_new) {
            return None;
        }
        self.socket.as_ref()
    }

    fn rebind(&mut self, now: Instant) {
        let address = self.address;
        match UdpLink::bind(address, &self.options) {
            Ok(socket) => {
                info!(event = "link_up", %address, "{address} can be used again");
                self.socket = Some(socket);
                self.is_new = true;
                self.retry = None;
                self.complaints.forget();
            }
            Err(error) => {
                self.retry = Some(now + RETRY);
                let text = format!("cannot use {address}: {error}");
                if self.complaints.is_new(&text) {
                    warn!(event = "bind_failed", %address, "{text}; trying again every {RETRY:?}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, SocketAddr};

    use ring_proto::ftn::server::Net;
    use ring_proto::time::Instant;

    use super::{RETRY, ServerLink};

    #[test]
    fn a_socket_that_fails_is_bound_again_after_a_pause_as_soon_as_that_can_be() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut link = ServerLink::bind(any, 10).unwrap();
        // The port that the kernel has chosen, so that another can take it.
        link.address = link.socket.as_ref().unwrap().address().unwrap();
        let at = Instant::default() + RETRY;
        assert!(link.look(at).is_some(), "it is told once");
        assert!(link.look(at).is_none() && link.is_up() && link.deadline().is_none());
        let error = io::Error::from(io::ErrorKind::NetworkDown);
        assert_eq!(link.fail(at, &error), Net::Down);
        assert!(!link.is_up() && link.look(at).is_none());
        assert_eq!(link.deadline(), Some(at + RETRY));
        let other = std::net::UdpSocket::bind(link.address()).unwrap();
        assert!(link.look(at + RETRY).is_none(), "somebody has the port");
        drop(other);
        assert_eq!(link.deadline(), Some(at + RETRY * 2));
        assert!(link.look(at + RETRY * 2).is_some() && link.is_up());
        assert_eq!(link.deadline(), None);
    }
}
