//! A request to the coordinator that is repeated, and the claim if it has no effect (`docs/board.md`, sections 5 and
//! 6).

use std::time::Duration;

use super::proof::Proof;
use crate::andrews::CoordinatorRow;
use crate::time::Instant;

// One or two requests or answers may be lost without a reason to depose the coordinator.
const REQUESTS_BEFORE_CLAIM: u32 = 3;

/// The evidence that the successor's kernel has given about its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ProcessEvidence {
    #[default]
    None,
    /// The process has ended the connection.
    Ended,
    /// The process has ended the connection, and no process listens at its port.
    Gone,
}

/// A JOIN or a SUCCESSOR_REQUEST with its repeats.
#[derive(Debug)]
pub(crate) struct RepeatedRequest {
    /// When the successor was lost, or when the first JOIN was due.
    since: Instant,
    /// The evidence about the successor that has failed.
    evidence: ProcessEvidence,
    /// The coordinator's beat in the first look since then.
    beat: Option<u64>,
    /// The coordinator's row during which the requests were counted.
    seat: CoordinatorRow,
    request_count: u32,
    /// The next step needs a look that began at this time or later.
    due: Instant,
    is_ready: bool,
    /// Whether only proof of the network is missing.
    lacks_proof: bool,
    /// Whether it was reported that the coordinator is alive and does not answer.
    is_unanswered: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StepInput {
    pub now: Instant,
    pub ack_timeout: Duration,
    pub alone_timeout: Duration,
    /// When the look began.
    pub read_at: Instant,
    pub seat: CoordinatorRow,
    pub beat: u64,
    pub is_coordinator: bool,
    /// The successor that has failed.
    pub failed: Option<u32>,
    /// Whether the coordinator's beat has not moved for long enough to claim with proof of the network.
    pub is_beat_late: bool,
    /// Whether it has not moved for long enough to claim without proof.
    pub is_beat_dead: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestStep {
    /// Nothing, or this node writes.
    None,
    /// The node looks for proof of the network.
    Look,
    /// The node asks the coordinator, and looks for proof.
    Ask {
        coordinator: u32,
        /// Whether to report that the coordinator is alive and does not answer.
        is_unanswered: bool,
    },
}

impl RepeatedRequest {
    pub(crate) const fn new(since: Instant, due: Instant, evidence: ProcessEvidence) -> Self {
        Self {
            since,
            evidence,
            beat: None,
            seat: CoordinatorRow { id: None, term: 0 },
            request_count: 0,
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

    /// Whether this node is to write. It is reported once.
    pub(crate) const fn take_ready(&mut self) -> bool {
        std::mem::replace(&mut self.is_ready, false)
    }

    /// Makes the next step due if only proof was missing.
    pub(crate) const fn on_proof(&mut self, now: Instant) {
        if self.lacks_proof {
            self.lacks_proof = false;
            self.due = now;
        }
    }

    /// Takes the next step, after a look that shows that the request is still needed.
    pub(crate) fn step(&mut self, it: StepInput, proof: &Proof) -> RequestStep {
        if it.read_at < self.due {
            return RequestStep::None;
        }
        let has_beaten = self.has_beaten(it.beat);
        self.due = it.now + it.ack_timeout;
        let is_nobody_asked = it.is_coordinator || it.seat.id.is_none();
        // There is no coordinator to ask: the node founds, claims or inserts itself at once.
        if it.failed.is_none() && is_nobody_asked {
            return RequestStep::None;
        }
        let is_useless = self.is_useless(it.seat);
        let wants_to_write = is_nobody_asked || is_useless || it.failed == it.seat.id;
        let needs_no_proof = if it.is_coordinator {
            self.since + it.alone_timeout <= it.now
        } else {
            it.is_beat_dead
        };
        // A coordinator that is silent need not be dead: its datagrams may be lost. Its beat shows that it is alive.
        let is_gone =
            it.failed == it.seat.id && self.evidence == ProcessEvidence::Gone && !has_beaten;
        let may_with_proof = is_nobody_asked || is_gone || it.is_beat_late;
        let has_proof = proof.has_contact_since(self.since);
        let may_write = needs_no_proof || has_proof && may_with_proof;
        self.is_ready = wants_to_write && may_write;
        self.lacks_proof = wants_to_write && !has_proof && may_with_proof;
        if self.is_ready {
            return RequestStep::None;
        }
        let Some(coordinator) = it.seat.id.filter(|_| !is_nobody_asked) else {
            return RequestStep::Look;
        };
        let was_unanswered = self.is_unanswered;
        self.is_unanswered = is_useless && !it.is_beat_late;
        self.request_count = self.request_count.saturating_add(1);
        RequestStep::Ask {
            coordinator,
            is_unanswered: self.is_unanswered && !was_unanswered,
        }
    }

    /// Whether this node has asked the coordinator that the row names often enough.
    fn is_useless(&mut self, seat: CoordinatorRow) -> bool {
        if self.seat != seat {
            // A new coordinator has not been asked yet.
            self.seat = seat;
            self.request_count = 0;
        }
        self.request_count >= REQUESTS_BEFORE_CLAIM
    }

    /// Whether a look since the loss has shown another beat than the first one.
    fn has_beaten(&mut self, beat: u64) -> bool {
        *self.beat.get_or_insert(beat) != beat
    }
}
