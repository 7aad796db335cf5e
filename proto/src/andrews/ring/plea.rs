//! Asking the coordinator again and again, and what follows if that is no use (`docs/board.md`, sections 5 and 6).

use std::time::Duration;

use super::proof::Proof;
use crate::andrews::Seat;
use crate::time::Instant;

/// Requests without effect after which a node claims.
const REQUESTS: u32 = 3;

/// What the successor's kernel has said of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verdict {
    #[default]
    None,
    /// It has ended the connection.
    Ended,
    /// It has ended the connection, and nobody listens any longer.
    Gone,
}

/// A JOIN or a SUCCESSOR_REQUEST, and its repeats.
#[derive(Debug)]
pub(crate) struct Plea {
    /// When the successor was lost, or the first JOIN sent.
    since: Instant,
    /// Of the successor that has failed.
    verdict: Verdict,
    /// The coordinator's beat as the first look since then has shown it.
    beat: Option<u64>,
    /// The row during which the requests were counted.
    seat: Seat,
    asked: u32,
    /// The next step is taken after a look that began then or later.
    due: Instant,
    /// It is decided that this node writes.
    is_ready: bool,
    /// It would be, with proof of the network.
    lacks_proof: bool,
    /// It was told that the coordinator lives and does not answer.
    is_unanswered: bool,
}

/// What decides on the next step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation {
    pub now: Instant,
    pub ack_timeout: Duration,
    pub alone_timeout: Duration,
    /// When the look began.
    pub read_at: Instant,
    pub seat: Seat,
    pub beat: u64,
    pub is_coordinator: bool,
    /// The successor that has failed.
    pub failed: Option<u32>,
    /// The coordinator's beat stands still for so long that proof of the network is enough.
    pub is_still: bool,
    /// It stands still for so long that no proof is needed.
    pub is_alone: bool,
}

/// The next step of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PleaStep {
    /// Nothing, or this node writes.
    None,
    /// Proof of the network is looked for.
    Look,
    /// The coordinator is asked, and proof is looked for.
    Ask {
        coordinator: u32,
        /// It lives and does not answer: that is news.
        is_unanswered: bool,
    },
}

impl Plea {
    pub(crate) const fn new(since: Instant, due: Instant, verdict: Verdict) -> Self {
        Self {
            since,
            verdict,
            beat: None,
            seat: Seat { id: None, term: 0 },
            asked: 0,
            due,
            is_ready: false,
            lacks_proof: false,
            is_unanswered: false,
        }
    }

    pub(super) const fn since(&self) -> Instant {
        self.since
    }

    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    pub(crate) const fn set_due(&mut self, due: Instant) {
        self.due = due;
    }

    pub(crate) const fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    /// Whether this node is to write; it is said once.
    pub(crate) const fn take_ready(&mut self) -> bool {
        std::mem::replace(&mut self.is_ready, false)
    }

    /// There is proof of the network: what has waited for it is decided at the next look.
    pub(crate) const fn on_proof(&mut self, now: Instant) {
        if self.lacks_proof {
            self.lacks_proof = false;
            self.due = now;
        }
    }

    /// Takes the next step, after a look that says that it is still needed.
    pub(crate) fn step(&mut self, it: Situation, proof: &Proof) -> PleaStep {
        if it.read_at < self.due {
            return PleaStep::None;
        }
        let has_beaten = self.has_beaten(it.beat);
        self.due = it.now + it.ack_timeout;
        let is_nobody_asked = it.is_coordinator || it.seat.id.is_none();
        // Nobody to ask: the node founds, claims or puts itself in at once.
        if it.failed.is_none() && is_nobody_asked {
            return PleaStep::None;
        }
        let is_useless = self.is_useless(it.seat);
        let wants_to_write = is_nobody_asked || is_useless || it.failed == it.seat.id;
        let is_alone = if it.is_coordinator {
            self.since + it.alone_timeout <= it.now
        } else {
            it.is_alone
        };
        // Silence is no death: the coordinator's beat shows that it lives, wherever its datagrams go.
        let is_gone = it.failed == it.seat.id && self.verdict == Verdict::Gone && !has_beaten;
        let may_with_proof = is_nobody_asked || is_gone || it.is_still;
        let has_proof = proof.is_there_since(self.since);
        let may_write = is_alone || has_proof && may_with_proof;
        self.is_ready = wants_to_write && may_write;
        self.lacks_proof = wants_to_write && !has_proof && may_with_proof;
        if self.is_ready {
            return PleaStep::None;
        }
        let Some(coordinator) = it.seat.id.filter(|_| !is_nobody_asked) else {
            return PleaStep::Look;
        };
        let was_unanswered = self.is_unanswered;
        self.is_unanswered = is_useless && !it.is_still;
        self.asked = self.asked.saturating_add(1);
        PleaStep::Ask {
            coordinator,
            is_unanswered: self.is_unanswered && !was_unanswered,
        }
    }

    /// Whether enough was asked of the coordinator that the row names.
    fn is_useless(&mut self, seat: Seat) -> bool {
        if self.seat != seat {
            self.seat = seat;
            self.asked = 0;
        }
        self.asked >= REQUESTS
    }

    /// Whether a look since the loss has shown another beat than the first of them.
    fn has_beaten(&mut self, beat: u64) -> bool {
        *self.beat.get_or_insert(beat) != beat
    }
}
