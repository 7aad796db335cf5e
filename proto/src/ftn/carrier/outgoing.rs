//! Messages that leave in parts.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring_codec::ftn::{Kind, Message};

use super::PARTS_MAX;
use super::recent::{Recent, Weight};
use crate::ftn::{PART, RETRY, RETRY_MAX, WINDOW};
use crate::time::Instant;

/// How many messages wait for one peer at most; another is as good as lost.
const WAITING_MAX: usize = 8;

/// Messages that leave in parts: to each peer one after the other.
#[derive(Debug, Clone, Hash, Default)]
pub struct Outgoing {
    next: i64,
    peers: Recent<VecDeque<Content>>,
}

/// A message under way.
#[derive(Debug, Clone, Hash)]
struct Content {
    number: i64,
    kind: Kind,
    bytes: Box<[u8]>,
    /// By part: whether it has come.
    came: Box<[bool]>,
    /// The part from which on none was sent since the message was repeated last.
    next: usize,
    /// When it began, or a part of it came last.
    progress: Instant,
}

/// A part that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// The message's number.
    pub content: i64,
    /// Which part of it.
    pub part: usize,
}

impl Content {
    /// Takes up to `count` parts that have not come.
    fn take(&mut self, count: usize) -> Vec<Part> {
        let mut taken = Vec::new();
        while taken.len() < count && self.next < self.came.len() {
            if !self.came[self.next] {
                let (content, part) = (self.number, self.next);
                taken.push(Part { content, part });
            }
            self.next += 1;
        }
        taken
    }

    /// All that has not come is to be sent again.
    fn repeat(&mut self) -> Vec<Part> {
        self.next = 0;
        self.take(WINDOW)
    }

    fn is_stalled(&self, now: Instant) -> bool {
        now.since(self.progress) >= RETRY_MAX
    }
}

/// What the messages of a queue take.
fn weight(queue: &VecDeque<Content>) -> Weight {
    Weight {
        bytes: queue.iter().map(|it| it.bytes.len() + it.came.len()).sum(),
        is_under_way: !queue.is_empty(),
    }
}

impl Outgoing {
    /// None yet, and at most so many bytes of them.
    pub const fn limited(bytes: usize) -> Self {
        let peers = Recent::limited(bytes);
        Self { next: 0, peers }
    }

    /// Numbers begin with the wall clock, in nanoseconds since 1970, so that those of a process before it are others. The
    /// first time counts.
    pub fn start(&mut self, wall: u64) {
        if self.next == 0 {
            self.next = i64::try_from(wall / 1_000).unwrap_or_default().max(1);
        }
    }

    /// What it takes, in bytes.
    pub const fn bytes(&self) -> usize {
        self.peers.bytes()
    }

    /// Sends a message, given as the datagram that it would be, or again if it is under way. Returns the parts that leave now.
    ///
    /// A STATE takes the place of one that waits: it says all that the other did.
    pub fn send(&mut self, now: Instant, to: SocketAddr, kind: Kind, bytes: &[u8]) -> Vec<Part> {
        let count = bytes.len().div_ceil(PART);
        if count > PARTS_MAX {
            return Vec::new();
        }
        let next = &mut self.next;
        self.peers.change(now, to, |queue| {
            let known = queue.iter().position(|it| *it.bytes == *bytes);
            if known.is_none() {
                let replaced = queue.iter().skip(1).position(|it| it.kind == kind);
                if let Some(place) = replaced.filter(|_| kind == Kind::State) {
                    queue.remove(1 + place);
                }
                if queue.len() < WAITING_MAX {
                    queue.push_back(Content {
                        number: *next,
                        kind,
                        bytes: bytes.into(),
                        came: vec![false; count].into(),
                        next: 0,
                        progress: now,
                    });
                    *next += 1;
                }
            }
            let is_stuck = queue.len() > 1 && queue[0].is_stalled(now);
            if is_stuck {
                queue.pop_front();
            }
            let is_only = queue.len() == 1;
            let first = queue.front_mut().filter(|first| {
                let is_state = kind == Kind::State && first.kind == kind;
                let is_late = now.since(first.progress) >= RETRY;
                is_only || is_stuck || is_state || is_late || known == Some(0)
            });
            let parts = first.map(Content::repeat).unwrap_or_default();
            (weight(queue), parts)
        })
    }

    /// PARTED from a peer. Returns the parts that leave now: one for each that has come, or the first ones of the next message.
    pub fn on_parted(
        &mut self,
        now: Instant,
        from: SocketAddr,
        number: i64,
        came: &[u8],
    ) -> Vec<Part> {
        if self.peers.get(from).is_none() {
            return Vec::new();
        }
        self.peers.change(now, from, |queue| {
            let parts = match queue.front_mut() {
                Some(content) if content.number == number && !came.is_empty() => {
                    for (part, has) in content.came.iter_mut().enumerate() {
                        let bit = came
                            .get(part / 8)
                            .is_some_and(|bits| bits >> (part % 8) & 1 == 1);
                        if bit && !*has {
                            content.progress = now;
                        }
                        // A peer that has forgotten a part says so.
                        *has = bit;
                    }
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
            (weight(queue), parts)
        })
    }

    /// A part as a message; `None`: it is no longer to be sent.
    pub fn message(&self, to: SocketAddr, part: Part) -> Option<Message<'_>> {
        let content = self.peers.get(to)?.front()?;
        if content.number != part.content {
            return None;
        }
        Some(Message::Part {
            content: part.content,
            part: i32::try_from(part.part).ok()?,
            parts: i32::try_from(content.came.len()).ok()?,
            bytes: content.bytes.chunks(PART).nth(part.part)?,
        })
    }

    /// Forgets what was to go to a peer.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.peers.take(peer);
    }
}
