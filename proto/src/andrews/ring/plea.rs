//! Asking the coordinator again and again, and what follows if that is no use (`docs/board.md`, sections 5 and 6).

use super::link::Verdict;
use crate::andrews::Seat;
use crate::time::Instant;

/// Requests without effect after which a node claims.
const REQUESTS: u32 = 3;

/// A JOIN or a SUCCESSOR_REQUEST, and its repeats.
#[derive(Debug)]
pub(crate) struct Plea {
    /// When the successor was lost, or the first JOIN sent.
    pub(crate) since: Instant,
    /// Of the successor that has failed.
    pub(crate) verdict: Verdict,
    /// The coordinator's beat as the first look since then has shown it.
    beat: Option<u64>,
    /// The row during which the requests were counted.
    seat: Seat,
    asked: u32,
    /// The next step is taken after a look that began then or later.
    pub(crate) due: Instant,
    /// It is decided that this node writes.
    pub(crate) is_ready: bool,
    /// It would be, with proof of the network.
    pub(crate) lacks_proof: bool,
    /// It was told that the coordinator lives and does not answer.
    pub(crate) is_unanswered: bool,
}

impl Plea {
    pub(crate) fn new(since: Instant, due: Instant) -> Self {
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
    pub(crate) fn is_useless(&mut self, seat: Seat) -> bool {
        if self.seat != seat {
            self.seat = seat;
            self.asked = 0;
        }
        self.asked >= REQUESTS
    }

    /// Whether a look since the loss has shown another beat than the first of them.
    pub(crate) fn has_beaten(&mut self, beat: u64) -> bool {
        *self.beat.get_or_insert(beat) != beat
    }

    pub(crate) const fn asked(&mut self) {
        self.asked = self.asked.saturating_add(1);
    }
}
