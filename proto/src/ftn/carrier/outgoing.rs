//! Sends messages in parts.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring_codec::ftn::{Kind, Message};

use super::PARTS_MAX;
use super::peer_table::{MemoryUse, PeerTable};
use crate::ftn::{PART, RETRY, RETRY_MAX, WINDOW};
use crate::time::Instant;

/// Maximum number of messages that wait for one peer. Further messages are dropped, as if they were lost on the way.
const WAITING_MESSAGES_MAX: usize = 8;

/// Messages that are sent in parts. Each peer gets its messages one after the other.
#[derive(Debug, Clone, Hash, Default)]
pub struct PartSender {
    next: i64,
    peers: PeerTable<VecDeque<OutgoingMessage>>,
}

/// A message to one peer.
#[derive(Debug, Clone, Hash)]
struct OutgoingMessage {
    number: i64,
    kind: Kind,
    bytes: Box<[u8]>,
    /// For each part: whether the peer has it.
    arrived: Box<[bool]>,
    /// First part that was not sent in the present repetition.
    next: usize,
    /// Time at which the peer last acknowledged a new part. If the peer has acknowledged no part, this is the time at
    /// which the message began.
    progress: Instant,
}

/// A part to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// Number of the message.
    pub content: i64,
    /// Number of the part, from 0.
    pub part: usize,
}

impl OutgoingMessage {
    /// Returns up to `count` parts that the peer does not have, and counts them as sent.
    fn take(&mut self, count: usize) -> Vec<Part> {
        let mut taken = Vec::new();
        while taken.len() < count && self.next < self.arrived.len() {
            if !self.arrived[self.next] {
                let (content, part) = (self.number, self.next);
                taken.push(Part { content, part });
            }
            self.next += 1;
        }
        taken
    }

    /// Starts a new repetition, from the first part that the peer does not have.
    fn repeat(&mut self) -> Vec<Part> {
        self.next = 0;
        self.take(WINDOW)
    }

    fn is_stalled(&self, now: Instant) -> bool {
        now.since(self.progress) >= RETRY_MAX
    }
}

fn memory_use(queue: &VecDeque<OutgoingMessage>) -> MemoryUse {
    MemoryUse {
        bytes: queue
            .iter()
            .map(|it| it.bytes.len() + it.arrived.len())
            .sum(),
        is_under_way: !queue.is_empty(),
    }
}

impl PartSender {
    /// Returns an empty table with a limit of `bytes` bytes.
    pub const fn with_limit(bytes: usize) -> Self {
        let peers = PeerTable::with_limit(bytes);
        Self { next: 0, peers }
    }

    /// Sets the first message number to the wall-clock time `wall`, in nanoseconds since 1970. So the numbers differ
    /// from the numbers of an earlier process. Only the first call has an effect.
    pub fn start(&mut self, wall: u64) {
        if self.next == 0 {
            self.next = i64::try_from(wall / 1_000).unwrap_or_default().max(1);
        }
    }

    /// Returns the memory of all messages, in bytes.
    pub const fn bytes(&self) -> usize {
        self.peers.bytes()
    }

    /// Sends a message, or repeats it if it is already under way. `bytes` is the message as one datagram. Returns the
    /// parts to send now.
    ///
    /// A new STATE replaces a waiting STATE, because the new STATE contains everything that the old STATE contained.
    pub fn send(&mut self, now: Instant, to: SocketAddr, kind: Kind, bytes: &[u8]) -> Vec<Part> {
        let count = bytes.len().div_ceil(PART);
        // The receiver would refuse a message with more parts.
        if count > PARTS_MAX {
            return Vec::new();
        }
        let next = &mut self.next;
        self.peers.change(now, to, |queue| {
            // Equal bytes are a repetition. The message keeps its number, so parts that have arrived still count.
            let known = queue.iter().position(|it| *it.bytes == *bytes);
            if known.is_none() {
                let replaced = queue.iter().skip(1).position(|it| it.kind == kind);
                if let Some(place) = replaced.filter(|_| kind == Kind::State) {
                    queue.remove(1 + place);
                }
                if queue.len() < WAITING_MESSAGES_MAX {
                    queue.push_back(OutgoingMessage {
                        number: *next,
                        kind,
                        bytes: bytes.into(),
                        arrived: vec![false; count].into(),
                        next: 0,
                        progress: now,
                    });
                    *next += 1;
                }
            }
            // A peer that no longer answers must not keep later messages waiting.
            let is_stuck = queue.len() > 1 && queue[0].is_stalled(now);
            if is_stuck {
                queue.pop_front();
            }
            let is_only = queue.len() == 1;
            // A message that joins the queue usually sends no part, because the first message is under way. If a whole
            // window of the first message was lost, no PARTED makes the sender continue. So the sender repeats the
            // first message after RETRY.
            let first = queue.front_mut().filter(|first| {
                // Each round also repeats the missing parts of an older STATE that is under way.
                let is_state = kind == Kind::State && first.kind == kind;
                let is_late = now.since(first.progress) >= RETRY;
                is_only || is_stuck || is_state || is_late || known == Some(0)
            });
            let parts = first.map(OutgoingMessage::repeat).unwrap_or_default();
            (memory_use(queue), parts)
        })
    }

    /// Handles PARTED from a peer. Returns the parts that must be sent now: one missing part, or the first parts of the
    /// next message.
    pub fn on_parted(
        &mut self,
        now: Instant,
        from: SocketAddr,
        number: i64,
        came: &[u8],
    ) -> Vec<Part> {
        // A PARTED from a stranger must not add a peer to the table.
        if self.peers.get(from).is_none() {
            return Vec::new();
        }
        self.peers.change(now, from, |queue| {
            let parts = match queue.front_mut() {
                Some(content) if content.number == number && !came.is_empty() => {
                    for (part, has) in content.arrived.iter_mut().enumerate() {
                        let bit = came
                            .get(part / 8)
                            .is_some_and(|bits| bits >> (part % 8) & 1 == 1);
                        if bit && !*has {
                            content.progress = now;
                        }
                        // The peer may have forgotten a part, because its memory is bounded too.
                        *has = bit;
                    }
                    // One new part for each answer keeps WINDOW parts on their way.
                    content.take(1)
                }
                Some(content) if content.number == number => {
                    queue.pop_front();
                    let next = queue.front_mut();
                    next.map(|content| {
                        content.progress = now;
                        content.repeat()
                    })
                    .unwrap_or_default()
                }
                _ => Vec::new(),
            };
            (memory_use(queue), parts)
        })
    }

    /// Returns the message of a part, or `None` if the part is no longer necessary.
    pub fn message(&self, to: SocketAddr, part: Part) -> Option<Message<'_>> {
        let content = self.peers.get(to)?.front()?;
        if content.number != part.content {
            return None;
        }
        Some(Message::Part {
            content: part.content,
            part: i32::try_from(part.part).ok()?,
            parts: i32::try_from(content.arrived.len()).ok()?,
            bytes: content.bytes.chunks(PART).nth(part.part)?,
        })
    }

    /// Deletes the messages to a peer.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.peers.forget(peer);
    }
}
