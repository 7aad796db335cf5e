//! Messages that come in parts.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use super::PARTS_MAX;
use super::recent::{Recent, Weight};
use crate::time::Instant;

/// How many messages of one peer are put together at a time: its present one, and one before of which parts come late.
const PARTIAL_MAX: usize = 2;
/// How many messages that are whole are remembered of one peer: their parts may come again.
const WHOLE_MAX: usize = 8;
/// What a part takes besides its bytes.
const OVERHEAD: usize = 64;

/// Messages that come in parts.
#[derive(Debug, Clone, Hash, Default)]
pub struct Incoming {
    peers: Recent<Peer>,
}

#[derive(Debug, Clone, Hash, Default)]
struct Peer {
    partial: VecDeque<Partial>,
    whole: VecDeque<i64>,
}

#[derive(Debug, Clone, Hash)]
struct Partial {
    number: i64,
    parts: usize,
    got: BTreeMap<usize, Box<[u8]>>,
    bytes: usize,
    /// When its first part came.
    arrived: Instant,
}

/// A PART.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The message's number.
    pub content: i64,
    /// Which part it is.
    pub part: i32,
    /// How many there are.
    pub parts: i32,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// What a part has led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Took {
    /// The message is whole.
    Whole {
        /// The datagram that it would be.
        bytes: Vec<u8>,
        /// When its first part came.
        arrived: Instant,
    },
    /// Others are missing, or the message was whole before.
    Noted,
    /// It cannot be, or the message is longer than allowed.
    Refused,
}

impl Incoming {
    /// None yet, and at most so many bytes of them.
    pub const fn limited(bytes: usize) -> Self {
        let peers = Recent::limited(bytes);
        Self { peers }
    }

    /// What it takes, in bytes.
    pub const fn bytes(&self) -> usize {
        self.peers.bytes()
    }

    /// Takes a part of a message of `longest` bytes at most.
    pub fn take(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: SocketAddr,
        piece: Piece<'_>,
        longest: usize,
    ) -> Took {
        let (Ok(part), Ok(parts)) = (usize::try_from(piece.part), usize::try_from(piece.parts))
        else {
            return Took::Refused;
        };
        if !(2..=PARTS_MAX).contains(&parts) || part >= parts || piece.bytes.is_empty() {
            return Took::Refused;
        }
        self.peers.change(now, from, |peer| {
            let took = peer.take(arrived, piece, part, parts, longest);
            (peer.weight(), took)
        })
    }

    /// Which parts of a message have come, as PARTED says it; `None`: nothing is known of it.
    pub fn came(&self, from: SocketAddr, number: i64) -> Option<Vec<u8>> {
        let peer = self.peers.get(from)?;
        if peer.whole.contains(&number) {
            return Some(Vec::new());
        }
        let partial = peer.partial.iter().find(|it| it.number == number)?;
        let mut came = vec![0; partial.parts.div_ceil(8)];
        for part in partial.got.keys() {
            came[part / 8] |= 1 << (part % 8);
        }
        Some(came)
    }

    /// Forgets what came from a peer.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.peers.take(peer);
    }
}

impl Peer {
    fn weight(&self) -> Weight {
        let partial = self.partial.iter().map(|it| it.bytes);
        Weight {
            bytes: partial.sum::<usize>() + self.whole.len(),
            is_under_way: !self.partial.is_empty(),
        }
    }

    fn take(
        &mut self,
        arrived: Instant,
        piece: Piece<'_>,
        part: usize,
        parts: usize,
        longest: usize,
    ) -> Took {
        let number = piece.content;
        if self.whole.contains(&number) {
            return Took::Noted;
        }
        let known = self.partial.iter().position(|it| it.number == number);
        let place = known.unwrap_or_else(|| {
            if self.partial.len() == PARTIAL_MAX {
                self.partial.pop_front();
            }
            self.partial.push_back(Partial {
                number,
                parts,
                got: BTreeMap::new(),
                bytes: 0,
                arrived,
            });
            self.partial.len() - 1
        });
        let partial = &mut self.partial[place];
        partial.arrived = partial.arrived.min(arrived);
        if partial.parts != parts {
            return Took::Refused;
        }
        if !partial.got.contains_key(&part) {
            partial.bytes += piece.bytes.len() + OVERHEAD;
            if partial.bytes > longest + parts.min(longest) * OVERHEAD {
                self.partial.remove(place);
                return Took::Refused;
            }
            partial.got.insert(part, piece.bytes.into());
        }
        if partial.got.len() < parts {
            return Took::Noted;
        }
        let Some(whole) = self.partial.remove(place) else {
            return Took::Refused;
        };
        if self.whole.len() == WHOLE_MAX {
            self.whole.pop_front();
        }
        self.whole.push_back(number);
        let bytes = whole.got.into_values().flatten().collect();
        let arrived = whole.arrived;
        Took::Whole { bytes, arrived }
    }
}
