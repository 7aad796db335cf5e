//! Assembles messages that arrive in parts.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use super::PARTS_MAX;
use super::peer_table::{MemoryUse, PeerTable};
use crate::time::Instant;

/// Maximum number of messages that the receiver assembles for one peer at the same time. The receiver assembles the
/// newest message, and an earlier message whose parts are late.
const PARTIAL_MESSAGES_MAX: usize = 2;
/// For each peer, the receiver remembers the numbers of this many complete messages, because parts of these messages
/// may arrive again.
const COMPLETE_NUMBERS_MAX: usize = 8;
/// Memory of a part in addition to its data, in bytes.
const PART_BYTES_EXTRA: usize = 64;

/// Messages that arrive in parts.
#[derive(Debug, Clone, Hash, Default)]
pub struct PartReceiver {
    peers: PeerTable<PeerMessages>,
}

#[derive(Debug, Clone, Hash, Default)]
struct PeerMessages {
    partial_messages: VecDeque<PartialMessage>,
    complete_numbers: VecDeque<i64>,
}

#[derive(Debug, Clone, Hash)]
struct PartialMessage {
    number: i64,
    parts: usize,
    // This is a map instead of a vector, because an announced number of parts must not reserve memory.
    received: BTreeMap<usize, Box<[u8]>>,
    bytes: usize,
    /// Time at which the first part arrived.
    arrived: Instant,
}

/// A received PART.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedPart<'a> {
    /// Number of the message.
    pub content: i64,
    /// Number of the part, from 0.
    pub part: i32,
    /// Number of parts of the message.
    pub parts: i32,
    /// Bytes of the part.
    pub bytes: &'a [u8],
}

/// Result of receiving a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartOutcome {
    /// The message is complete.
    Complete {
        /// The message as one datagram.
        bytes: Vec<u8>,
        /// Time at which the first part arrived.
        arrived: Instant,
    },
    /// Other parts are missing, or the message was already complete.
    Stored,
    /// The part is invalid, or the message is longer than allowed.
    Refused,
}

impl PartReceiver {
    /// Returns an empty table with a limit of `bytes` bytes.
    pub const fn with_limit(bytes: usize) -> Self {
        let peers = PeerTable::with_limit(bytes);
        Self { peers }
    }

    /// Returns the memory of all parts, in bytes.
    pub const fn bytes(&self) -> usize {
        self.peers.bytes()
    }

    /// Stores a part. The whole message must have at most `longest` bytes.
    pub fn take(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: SocketAddr,
        piece: ReceivedPart<'_>,
        longest: usize,
    ) -> PartOutcome {
        let (Ok(part), Ok(parts)) = (usize::try_from(piece.part), usize::try_from(piece.parts))
        else {
            return PartOutcome::Refused;
        };
        // A message of one part fits a datagram and needs no PART.
        if !(2..=PARTS_MAX).contains(&parts) || part >= parts || piece.bytes.is_empty() {
            return PartOutcome::Refused;
        }
        self.peers.change(now, from, |peer| {
            let took = peer.take(arrived, piece, part, parts, longest);
            (peer.memory_use(), took)
        })
    }

    /// Returns one bit for each part of a message, in the format of a PARTED. The bit states whether the part has
    /// arrived. The list is empty if all parts have arrived. Returns `None` if the table contains no part of the
    /// message.
    pub fn arrived_parts(&self, from: SocketAddr, number: i64) -> Option<Vec<u8>> {
        let peer = self.peers.get(from)?;
        if peer.complete_numbers.contains(&number) {
            return Some(Vec::new());
        }
        let partial = peer
            .partial_messages
            .iter()
            .find(|it| it.number == number)?;
        let mut came = vec![0; partial.parts.div_ceil(8)];
        for part in partial.received.keys() {
            came[part / 8] |= 1 << (part % 8);
        }
        Some(came)
    }

    /// Deletes all parts from a peer.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.peers.forget(peer);
    }
}

impl PeerMessages {
    fn memory_use(&self) -> MemoryUse {
        let partial = self.partial_messages.iter().map(|it| it.bytes);
        MemoryUse {
            bytes: partial.sum::<usize>() + self.complete_numbers.len(),
            is_under_way: !self.partial_messages.is_empty(),
        }
    }

    fn take(
        &mut self,
        arrived: Instant,
        piece: ReceivedPart<'_>,
        part: usize,
        parts: usize,
        longest: usize,
    ) -> PartOutcome {
        let number = piece.content;
        // The last PARTED was lost, and the sender repeats parts of a complete message.
        if self.complete_numbers.contains(&number) {
            return PartOutcome::Stored;
        }
        let known = self
            .partial_messages
            .iter()
            .position(|it| it.number == number);
        let place = known.unwrap_or_else(|| {
            // A peer sends its messages one after the other, so the receiver drops the older of two incomplete
            // messages.
            if self.partial_messages.len() == PARTIAL_MESSAGES_MAX {
                self.partial_messages.pop_front();
            }
            self.partial_messages.push_back(PartialMessage {
                number,
                parts,
                received: BTreeMap::new(),
                bytes: 0,
                arrived,
            });
            self.partial_messages.len() - 1
        });
        let partial = &mut self.partial_messages[place];
        // The arrival time of a message is the arrival time of its first part. A later time would lengthen the lease
        // that a STATE gives to a follower.
        partial.arrived = partial.arrived.min(arrived);
        if partial.parts != parts {
            return PartOutcome::Refused;
        }
        if !partial.received.contains_key(&part) {
            partial.bytes += piece.bytes.len() + PART_BYTES_EXTRA;
            // The check uses the bytes that have arrived, because the announced number of parts may be false.
            if partial.bytes > longest + parts.min(longest) * PART_BYTES_EXTRA {
                self.partial_messages.remove(place);
                return PartOutcome::Refused;
            }
            partial.received.insert(part, piece.bytes.into());
        }
        if partial.received.len() < parts {
            return PartOutcome::Stored;
        }
        let Some(whole) = self.partial_messages.remove(place) else {
            return PartOutcome::Refused;
        };
        // The number is kept so that a late part does not begin the message again.
        if self.complete_numbers.len() == COMPLETE_NUMBERS_MAX {
            self.complete_numbers.pop_front();
        }
        self.complete_numbers.push_back(number);
        let bytes = whole.received.into_values().flatten().collect();
        let arrived = whole.arrived;
        PartOutcome::Complete { bytes, arrived }
    }
}
