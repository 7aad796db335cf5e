//! Asking the coordinator again and again, and what follows if that is no use (`docs/board.md`, sections 5 and 6).

use std::collections::BTreeMap;

use super::Seat;
use super::link::Verdict;
use crate::StreamId;
use crate::time::Instant;

/// Requests without effect after which a node claims.
const REQUESTS: u32 = 3;

/// A JOIN or a SUCCESSOR_REQUEST, and its repeats.
#[derive(Debug)]
pub(super) struct Plea {
    /// When the successor was lost, or the first JOIN sent.
    pub(super) since: Instant,
    /// Of the successor that has failed.
    pub(super) verdict: Verdict,
    /// The coordinator's beat as the first look since then has shown it.
    beat: Option<u64>,
    /// The row during which the requests were counted.
    seat: Seat,
    asked: u32,
    /// The next step is taken after a look that began then or later.
    pub(super) due: Instant,
    /// It is decided that this node writes.
    pub(super) is_ready: bool,
    /// It would be, with proof of the network.
    pub(super) lacks_proof: bool,
    /// It was told that the coordinator lives and does not answer.
    pub(super) is_unanswered: bool,
}

impl Plea {
    pub(super) fn new(since: Instant, due: Instant) -> Self {
        Self {
            since,
            verdict: Verdict::None,
            beat: None,
            seat: Seat::default(),
            asked: 0,
            due,
            is_ready: false,
            lacks_proof: false,
            is_unanswered: false,
        }
    }

    /// Whether enough was asked of the coordinator that the row names.
    pub(super) fn is_useless(&mut self, seat: Seat) -> bool {
        if self.seat != seat {
            self.seat = seat;
            self.asked = 0;
        }
        self.asked >= REQUESTS
    }

    /// Whether a look since the loss has shown another beat than the first of them.
    pub(super) fn has_beaten(&mut self, beat: u64) -> bool {
        *self.beat.get_or_insert(beat) != beat
    }

    pub(super) const fn asked(&mut self) {
        self.asked = self.asked.saturating_add(1);
    }
}

/// Proof that the network is there, and the connections that look for it.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// When another node was last heard, or has accepted or refused a connection.
    last: Option<Instant>,
    /// Nodes to connect to, and then those that were.
    pub(super) wanted: Vec<u32>,
    pub(super) open: BTreeMap<StreamId, Instant>,
}

impl Proof {
    /// The most connections that look for it at a time.
    pub(super) const MOST: usize = 4;

    pub(super) const fn note(&mut self, now: Instant) {
        self.last = Some(now);
    }

    pub(super) fn is_there_since(&self, since: Instant) -> bool {
        self.last.is_some_and(|last| last >= since)
    }

    /// Wants a connection to a node.
    pub(super) fn want(&mut self, id: u32) {
        if self.wanted.len() + self.open.len() < Self::MOST && !self.wanted.contains(&id) {
            self.wanted.push(id);
        }
    }
}
