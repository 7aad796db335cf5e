//! Messages that are too long for one datagram and travel in parts
//! (`docs/token-service/protocol/messages-in-parts.md`).
//!
//! [`PartSender`] cuts messages and sends a few parts at a time. [`PartReceiver`] assembles them. Neither has a timer.
//! The code that sent a message repeats it until an answer arrives. Each repetition sends only the missing parts.

mod incoming;
mod outgoing;
mod peer_table;
#[cfg(test)]
pub mod test_peer;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

pub use incoming::{PartOutcome, PartReceiver, ReceivedPart};
pub use outgoing::{Part, PartSender};

use super::{DATA_BYTES_MAX, NAME_BYTES_MAX};

/// Maximum number of parts of a message. With this maximum, a PARTED with one bit for each part fits into one datagram.
pub const PARTS_MAX: usize = 8_192;
/// Longest message from or to a client: a name, data, and the other fields of the message.
pub const MESSAGE_MAX: usize = NAME_BYTES_MAX + DATA_BYTES_MAX + 256;
/// Default limit for the total bytes of all messages in one direction.
pub const TOTAL_MAX: usize = 16 << 20;
/// If the memory exceeds its limit, the table first deletes peers that were silent for this time.
// A sender that waits for an answer usually repeats its message at least this often.
const SILENT_AFTER: Duration = super::RETRY_MAX;
/// A message takes too long if it is incomplete after this time. If the memory exceeds its limit, the table deletes the
/// peers of such messages after the silent peers.
const ACTIVITY_MAX: Duration = Duration::from_secs(4);
/// The table deletes a peer and its parts after this silence, even if the memory is below its limit.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// Memory of a peer in addition to its parts, in bytes.
const PEER_BYTES: usize = 256;

/// Messages in parts from and to several peers.
#[derive(Debug, Clone, Hash, Default)]
pub struct Carrier {
    /// Messages that leave.
    pub outgoing: PartSender,
    /// Messages that arrive.
    pub incoming: PartReceiver,
}

impl Carrier {
    /// Returns a carrier without messages, with a limit of `bytes` bytes in each direction.
    pub fn with_limit(bytes: usize) -> Self {
        Self {
            outgoing: PartSender::with_limit(bytes),
            incoming: PartReceiver::with_limit(bytes),
        }
    }

    /// Returns the memory of both directions, in bytes.
    pub const fn bytes(&self) -> usize {
        self.outgoing.bytes() + self.incoming.bytes()
    }

    /// Deletes all messages from and to a peer.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.outgoing.forget(peer);
        self.incoming.forget(peer);
    }
}
