//! Two kinds of frames: frames that wait for the driver, and frames whose outcome is unknown.

use std::collections::VecDeque;
use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, Promise, Token};

use super::snapshot::Writer;
use crate::Ticket;
use crate::lab2::Reason;
use crate::lab2::jobs::StampsFrame;
use crate::lab2::locks::{LocksFrame, QuestionFrame};
use crate::lab2::survey::SurveyFrame;

/// The maximum number of frames in answer to one received frame (`docs/reference/lab2/states.md R6`).
pub(crate) const REPLIES_MAX: usize = 2;

/// A frame to send. The other fields of the frame get their values when the node encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outgoing {
    /// A member, or [`MacAddr::BROADCAST`].
    pub(crate) to: MacAddr,
    pub(crate) content: Content,
}

/// The message of a frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) enum Content {
    TakeToken(Token),
    TokenIsHere(Token),
    /// The first broadcast TOKEN_IS_HERE of a candidate. It makes the candidate OWNER.
    FirstHeartbeat(Token),
    /// PING that does not answer a heartbeat.
    Ping,
    /// PING in answer to a heartbeat, perhaps with a promise.
    HeartbeatAnswer(Option<Promise>),
    TokenWasHereRecently(Token, MacAddr),
    WhereIsToken,
    GeneratingToken(Token),
    /// The broadcast GENERATING_TOKEN. It makes a LOOSER a candidate (GENERATING). The event about this change names
    /// the reason.
    Candidacy(Token, Reason),
    /// A part of the table.
    RingMembers {
        /// Place of the part's first member in the table.
        first: usize,
    },
    WantToken,
    Leaving,
    /// A LEAVING frame with an earlier address of this node.
    LeavingOld(MacAddr),
    Stamps(StampsFrame),
    Locks(LocksFrame),
    LocksQuestion(QuestionFrame),
    Survey(SurveyFrame),
    /// FORGET. When the node encodes FORGET, the frame names the members that [are
    /// listed](crate::lab2::members::Members::forget_list) at that time.
    Forget,
}

impl Content {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::TakeToken(_) => Kind::TakeToken,
            Self::TokenIsHere(_) | Self::FirstHeartbeat(_) => Kind::TokenIsHere,
            Self::Ping | Self::HeartbeatAnswer(_) => Kind::Ping,
            Self::TokenWasHereRecently(..) => Kind::TokenWasHereRecently,
            Self::WhereIsToken => Kind::WhereIsToken,
            Self::GeneratingToken(_) | Self::Candidacy(..) => Kind::GeneratingToken,
            Self::RingMembers { .. } => Kind::RingMembers,
            Self::WantToken => Kind::WantToken,
            Self::Leaving | Self::LeavingOld(_) => Kind::Leaving,
            Self::Stamps(_) => Kind::Stamps,
            Self::Locks(_) => Kind::Locks,
            Self::LocksQuestion(_) => Kind::LocksQuestion,
            Self::Survey(frame) => frame.kind(),
            Self::Forget => Kind::Forget,
        }
    }
}

impl Content {
    /// Whether the frame names a token or a stamp. The token or stamp must be stored before the frame leaves.
    pub(crate) const fn needs_storage(self) -> bool {
        match self {
            Self::TakeToken(_)
            | Self::TokenIsHere(_)
            | Self::FirstHeartbeat(_)
            | Self::TokenWasHereRecently(..)
            | Self::GeneratingToken(_)
            | Self::Candidacy(..)
            | Self::Stamps(_)
            | Self::Locks(_) => true,
            Self::Ping
            | Self::HeartbeatAnswer(_)
            | Self::WhereIsToken
            | Self::RingMembers { .. }
            | Self::WantToken
            | Self::Leaving
            | Self::LeavingOld(_)
            | Self::LocksQuestion(_)
            | Self::Survey(_)
            | Self::Forget => false,
        }
    }
}

/// Number of frames for which the queues have space at first. If an input causes more frames, the queues allocate
/// memory.
const QUEUE_CAPACITY: usize = 8;

/// A queue of frames. The first frame that enters is the first frame that leaves.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outbox {
    waiting: VecDeque<Outgoing>,
    in_flight: VecDeque<(u64, Outgoing)>,
    next_ticket: u64,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::with_capacity(QUEUE_CAPACITY),
            in_flight: VecDeque::with_capacity(QUEUE_CAPACITY),
            next_ticket: 0,
        }
    }

    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        self.waiting.push_back(outgoing);
    }

    pub(crate) fn pop(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }

    /// Drops the waiting frames with matching content.
    pub(crate) fn drop_all(&mut self, is_one: fn(Content) -> bool) {
        self.waiting.retain(|outgoing| !is_one(outgoing.content));
    }

    /// Whether a TAKE_TOKEN waits, or its outcome is unknown.
    pub(crate) fn has_offer(&self) -> bool {
        let in_flight = self.in_flight.iter().map(|(_, outgoing)| outgoing);
        let mut all = self.waiting.iter().chain(in_flight);
        all.any(|outgoing| matches!(outgoing.content, Content::TakeToken(_)))
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Notes that the driver took the frame. Returns the ticket for the driver's report of the outcome.
    pub(crate) fn dispatch(&mut self, outgoing: Outgoing) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.in_flight.push_back((ticket, outgoing));
        Ticket::new(ticket)
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            waiting,
            in_flight,
            next_ticket,
        } = self;
        waiting.hash(writer);
        for (ticket, outgoing) in in_flight {
            // Tickets are only compared with each other, so only their differences matter.
            (next_ticket - ticket, outgoing).hash(writer);
        }
        in_flight.len().hash(writer);
    }

    /// Removes and returns the frame with this ticket.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a ticket is good for one report"
    )]
    pub(crate) fn complete(&mut self, ticket: Ticket) -> Option<Outgoing> {
        // The contract names no order of the reports, so this frame need not be the first frame.
        let at = self
            .in_flight
            .iter()
            .position(|(id, _)| *id == ticket.id())?;
        self.in_flight.remove(at).map(|(_, outgoing)| outgoing)
    }
}
