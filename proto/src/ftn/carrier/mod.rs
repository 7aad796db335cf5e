//! Messages that are too long for one datagram: they travel in parts (`docs/ftn.md`, "Messages in parts").
//!
//! [`Outgoing`] cuts messages and sends a few parts at a time; [`Incoming`] puts them together. Neither has timers: whatever
//! awaits an answer is repeated by the rule that sent it, and a repeated message brings the missing parts again.

#[cfg(test)]
pub mod far_side;
mod incoming;
mod outgoing;
mod recent;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

pub use incoming::{Incoming, Piece, Took};
pub use outgoing::{Outgoing, Part};

use super::{MAX_DATA, MAX_NAME};

/// The most parts of a message: an acknowledgement with a bit for each still fits a datagram.
pub const PARTS_MAX: usize = 8_192;
/// The longest message of a client or to one: a name, data, and what lies around them.
pub const MESSAGE_MAX: usize = MAX_NAME + MAX_DATA + 256;
/// The bytes that all messages under way in one direction may take, unless there is a smaller limit.
pub const TOTAL_MAX: usize = 16 << 20;
/// Where they take more those of peers that were silent for so long go first, the longest silent before others,
const SILENT_FOR: Duration = super::RETRY_MAX;
/// then those of peers that have taken more and more for so long, and then those of who came to an end last, or began last.
const TURN_MAX: Duration = Duration::from_secs(4);
/// A peer that was silent for so long is forgotten with its parts.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// What a peer takes besides its parts, in bytes.
const PEER: usize = 256;

/// Messages in parts of some peers, in both directions.
#[derive(Debug, Clone, Hash, Default)]
pub struct Carrier {
    /// Those that leave.
    pub outgoing: Outgoing,
    /// Those that come.
    pub incoming: Incoming,
}

impl Carrier {
    /// None yet, and at most so many bytes of them in each direction.
    pub fn limited(bytes: usize) -> Self {
        Self {
            outgoing: Outgoing::limited(bytes),
            incoming: Incoming::limited(bytes),
        }
    }

    /// What both directions take, in bytes.
    pub const fn bytes(&self) -> usize {
        self.outgoing.bytes() + self.incoming.bytes()
    }

    /// Forgets what came from a peer and was to go to it.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.outgoing.forget(peer);
        self.incoming.forget(peer);
    }
}
