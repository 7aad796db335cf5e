//! A UDP socket at one address. If the socket is lost, the slot binds its address again.

use std::io;
use std::net::SocketAddr;
use std::ops::Add;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Link, Quota, ReceiveBatch, Refused, TransmitBatch};
use ring_runtime::net::{UdpLink, UdpOptions};
use tracing::{info, warn};

use super::SendFailures;
use super::last_failure::LastFailure;
use crate::observe::events;

/// The time between two attempts to bind an address.
pub const REBIND_PAUSE: Duration = Duration::from_secs(1);

/// Numbers of received datagrams that did not reach the state machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramDrops {
    /// Number of datagrams that the kernel dropped, because this process did not receive them in time.
    pub kernel: u64,
    /// Number of datagrams that were dropped because they were longer than any message.
    pub cut: u64,
}

impl DatagramDrops {
    /// Returns the numbers of datagrams that were dropped since the socket was bound.
    pub fn of(socket: &mut UdpLink) -> Self {
        Self {
            // If the socket is broken, the next receive call reports the error.
            kernel: socket.kernel_drops().unwrap_or(0),
            cut: socket.cut(),
        }
    }
}

impl Add for DatagramDrops {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            kernel: self.kernel + other.kernel,
            cut: self.cut + other.cut,
        }
    }
}

/// The socket at an address. While the socket is lost, this node can neither send nor receive datagrams.
#[derive(Debug)]
pub struct UdpSlot {
    address: SocketAddr,
    options: UdpOptions,
    /// Socket of the slot; `None` if it is lost.
    socket: Option<UdpLink>,
    /// Whether the socket still has to be registered with the loop.
    is_unregistered: bool,
    retry: Option<Instant>,
    last_failure: LastFailure,
    earlier: DatagramDrops,
    failures: SendFailures,
}

impl UdpSlot {
    /// Binds an address.
    ///
    /// # Errors
    /// Fails with the same errors as [`UdpLink::bind`].
    pub fn bind(address: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let socket = UdpLink::bind(address, &options)?;
        Ok(Self {
            address,
            options,
            socket: Some(socket),
            is_unregistered: true,
            retry: None,
            last_failure: LastFailure::default(),
            earlier: DatagramDrops::default(),
            failures: SendFailures::default(),
        })
    }

    /// Returns the address of the slot.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the peers to which sending fails.
    pub const fn failures(&self) -> &SendFailures {
        &self.failures
    }

    /// Changes the address of the slot. If the new address cannot be bound, keeps the old address and logs the failure
    /// once.
    pub fn move_to(&mut self, address: SocketAddr) {
        if address == self.address {
            return;
        }
        match UdpLink::bind(address, &self.options) {
            Ok(socket) => {
                info!(event = events::LINK_MOVED, %address, "this server has moved to {address} from {}", self.address);
                self.earlier = self.drops();
                self.address = address;
                self.socket = Some(socket);
                self.is_unregistered = true;
                self.retry = None;
                self.last_failure.clear();
            }
            Err(error) => {
                let text = format!(
                    "cannot move to {address}, the new address of this server's name: {error}; the server stays at {}",
                    self.address
                );
                if self.last_failure.record(&text) {
                    warn!(event = events::MOVE_FAILED, %address, "{text}");
                }
            }
        }
    }

    /// Returns the socket; `None` if it is lost.
    pub const fn socket(&mut self) -> Option<&mut UdpLink> {
        self.socket.as_mut()
    }

    /// Whether datagrams can be sent and received.
    pub const fn is_up(&self) -> bool {
        self.socket.is_some()
    }

    /// Returns the size of the kernel's receive buffer and the requested size, if the buffer is smaller than requested.
    pub fn shortage(&self) -> Option<(usize, usize)> {
        let (has, _) = self.socket.as_ref()?.buffers().ok()?;
        let requested = self.options.receive_buffer?;
        (has < requested).then_some((has, requested))
    }

    /// Returns the numbers of dropped datagrams.
    pub fn drops(&mut self) -> DatagramDrops {
        let now = self
            .socket
            .as_mut()
            .map(DatagramDrops::of)
            .unwrap_or_default();
        self.earlier + now
    }

    /// Closes the socket, because it cannot receive. The slot binds the address again after a pause.
    pub fn fail(&mut self, now: Instant, error: &io::Error) {
        let address = self.address;
        warn!(
            event = events::LINK_FAILED, %address,
            "cannot receive at {address}: {error}; the daemon retries every {REBIND_PAUSE:?}"
        );
        self.earlier = self.drops();
        self.socket = None;
        self.is_unregistered = false;
        self.retry = Some(now + REBIND_PAUSE);
    }

    /// Returns the latest time for the next call of [`poll_socket`](Self::poll_socket).
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry
    }

    /// If the pause is over, binds the address again. Returns the socket if it must still be registered with the loop.
    pub fn poll_socket(&mut self, now: Instant) -> Option<&UdpLink> {
        if self.retry.is_some_and(|retry| retry <= now) {
            self.rebind(now);
        }
        if !std::mem::take(&mut self.is_unregistered) {
            return None;
        }
        self.socket.as_ref()
    }

    fn rebind(&mut self, now: Instant) {
        let address = self.address;
        match UdpLink::bind(address, &self.options) {
            Ok(socket) => {
                info!(event = events::LINK_UP, %address, "{address} works again");
                self.socket = Some(socket);
                self.is_unregistered = true;
                self.retry = None;
                self.last_failure.clear();
            }
            Err(error) => {
                self.retry = Some(now + REBIND_PAUSE);
                let text = format!("cannot use {address}: {error}");
                if self.last_failure.record(&text) {
                    warn!(event = events::BIND_FAILED, %address, "{text}; the daemon retries every {REBIND_PAUSE:?}");
                }
            }
        }
    }
}

impl Link<SocketAddr> for UdpSlot {
    const QUOTA: Quota = <UdpLink as Link<SocketAddr>>::QUOTA;

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<SocketAddr>) -> io::Result<()> {
        self.socket.receive(now, batch)
    }

    fn send(&mut self, batch: &TransmitBatch<SocketAddr>) -> Result<usize, Refused> {
        let sent = self.socket.send(batch);
        match &sent {
            Ok(accepted) if !self.failures.is_empty() => {
                for (_, to) in batch.iter().take(*accepted) {
                    self.failures.on_accepted(to);
                }
            }
            Ok(_) => {}
            Err(refused) => {
                if let Some((_, to)) = batch.iter().next() {
                    self.failures.on_refused(to, &refused.as_error());
                }
            }
        }
        sent
    }

    fn sent_by(&self, now: Now) -> Now {
        self.socket.sent_by(now)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, UdpSocket};

    use ring_proto::time::Instant;

    use super::{REBIND_PAUSE, UdpSlot};
    use ring_runtime::net::UdpOptions;

    #[test]
    fn a_failed_socket_is_bound_again_after_a_pause_as_soon_as_possible() {
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        let mut slot = UdpSlot::bind(any, UdpOptions::default()).unwrap();
        // The test needs the port that the kernel has chosen, so that another socket can take this port.
        slot.address = slot.socket().unwrap().address().unwrap();
        let at = Instant::default() + REBIND_PAUSE;
        assert!(slot.poll_socket(at).is_some(), "the failure is logged once");
        assert!(slot.poll_socket(at).is_none() && slot.is_up() && slot.deadline().is_none());
        slot.fail(at, &io::Error::from(io::ErrorKind::NetworkDown));
        assert!(!slot.is_up() && slot.poll_socket(at).is_none());
        assert_eq!(slot.deadline(), Some(at + REBIND_PAUSE));
        let other = UdpSocket::bind(slot.address()).unwrap();
        assert!(
            slot.poll_socket(at + REBIND_PAUSE).is_none(),
            "another socket has the port"
        );
        drop(other);
        assert_eq!(slot.deadline(), Some(at + REBIND_PAUSE * 2));
        assert!(slot.poll_socket(at + REBIND_PAUSE * 2).is_some() && slot.is_up());
        assert_eq!(slot.deadline(), None);
    }
}
