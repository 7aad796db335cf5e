//! A request to the coordinator that the node repeats. If the request has no effect, the node claims the coordinator's
//! place (`docs/board/protocol/members.md`, rules S; `failures.md`, rules F and A).

use std::time::Duration;

use super::proof::Proof;
use crate::andrews::CoordinatorRow;
use crate::time::Instant;

// Datagrams may be lost. One or two requests without an answer are no reason to replace the coordinator.
const REQUESTS_BEFORE_CLAIM: u32 = 3;

/// The evidence about the successor's process. The evidence comes from the kernel of the successor's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ProcessEvidence {
    #[default]
    None,
    /// The process ended the connection.
    Ended,
    /// The process ended the connection, and no process listens at its port.
    Gone,
}

/// A JOIN or a SUCCESSOR_REQUEST, with its repeats.
#[derive(Debug)]
pub(crate) struct RepeatedRequest {
    /// The time at which the successor was lost. For a JOIN, this is the due time of the first JOIN.
    since: Instant,
    /// The evidence about the failed successor.
    evidence: ProcessEvidence,
    /// The coordinator's beat, from the first look after `since`.
    beat: Option<u64>,
    /// The coordinator's row to which `request_count` belongs.
    seat: CoordinatorRow,
    request_count: u32,
    /// The node takes the next step after a look that began at this time or later.
    due: Instant,
    is_ready: bool,
    /// Whether the node would write if it had proof that the network works.
    lacks_proof: bool,
    /// Whether the node already reported that the coordinator is alive but does not answer.
    is_unanswered: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StepInput {
    pub now: Instant,
    pub ack_timeout: Duration,
    pub alone_timeout: Duration,
    /// The time at which the look began.
    pub read_at: Instant,
    pub seat: CoordinatorRow,
    pub beat: u64,
    pub is_coordinator: bool,
    /// The failed successor.
    pub failed: Option<u32>,
    /// Whether the coordinator's beat has been constant for so long that a node with proof of the network may claim the
    /// coordinator's place.
    pub is_beat_late: bool,
    /// Whether the coordinator's beat has been constant for so long that a node without proof of the network may claim
    /// the coordinator's place too.
    pub is_beat_dead: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestStep {
    /// The node waits, or writes the change to the database itself.
    None,
    /// The node looks for proof that the network works.
    Look,
    /// The node sends a request to the coordinator, and looks for proof that the network works.
    Ask {
        coordinator: u32,
        /// Whether to report that the coordinator is alive but does not answer.
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

    /// Whether this node must now write to the database itself. Returns `true` only once.
    pub(crate) const fn take_ready(&mut self) -> bool {
        std::mem::replace(&mut self.is_ready, false)
    }

    /// Handles new proof that the network works. If only proof of the network was missing, makes the next step due.
    pub(crate) const fn on_proof(&mut self, now: Instant) {
        if self.lacks_proof {
            self.lacks_proof = false;
            self.due = now;
        }
    }

    /// Takes the next step after a look that shows that the request is still necessary.
    pub(crate) fn step(&mut self, it: StepInput, proof: &Proof) -> RequestStep {
        // An older look may show a failure that the coordinator has repaired since.
        if it.read_at < self.due {
            return RequestStep::None;
        }
        let has_beaten = self.note_beat(it.beat);
        self.due = it.now + it.ack_timeout;
        let is_nobody_asked = it.is_coordinator || it.seat.id.is_none();
        // There is no coordinator to ask. So the node at once founds a ring, claims the coordinator's place, or inserts
        // itself.
        if it.failed.is_none() && is_nobody_asked {
            return RequestStep::None;
        }
        self.follow_seat(it.seat);
        let is_useless = self.request_count >= REQUESTS_BEFORE_CLAIM;
        // A coordinator that is itself the failed successor cannot help, so the node does not wait for three requests.
        let wants_to_write = is_nobody_asked || is_useless || it.failed == it.seat.id;
        // If all other nodes are dead, proof never comes. In this case a long silence must be enough.
        let needs_no_proof = if it.is_coordinator {
            self.since + it.alone_timeout <= it.now
        } else {
            it.is_beat_dead
        };
        // A silent coordinator need not be dead, because its datagrams may be lost. Its beat shows whether it is alive.
        let is_gone =
            it.failed == it.seat.id && self.evidence == ProcessEvidence::Gone && !has_beaten;
        let may_with_proof = is_nobody_asked || is_gone || it.is_beat_late;
        // Without proof this node may itself be cut off, and would remove live nodes.
        let has_proof = proof.has_contact_since(self.since);
        let may_write = needs_no_proof || has_proof && may_with_proof;
        self.is_ready = wants_to_write && may_write;
        self.lacks_proof = wants_to_write && !has_proof && may_with_proof;
        if self.is_ready {
            return RequestStep::None;
        }
        // There is no other coordinator to ask, so only proof is missing.
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

    /// Restarts the count of requests when the row names a new coordinator or a new term.
    fn follow_seat(&mut self, seat: CoordinatorRow) {
        if self.seat != seat {
            // A new coordinator has not been asked yet.
            self.seat = seat;
            self.request_count = 0;
        }
    }

    /// Records the coordinator's beat from a look. Returns whether the beat differs from the beat of the first look.
    fn note_beat(&mut self, beat: u64) -> bool {
        *self.beat.get_or_insert(beat) != beat
    }
}
