//! Frames that wait for the driver, and those whose outcome it has not reported yet.

use std::collections::VecDeque;
use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, Promise, Token};

use super::snapshot::Writer;
use crate::Ticket;
use crate::lab2::Reason;
use crate::lab2::jobs::Telling;

/// Frames that one received frame is answered with at the most (`docs/protocol.md`, section 5).
pub(crate) const MAX_REPLIES: usize = 2;

/// A frame to send. What it carries beyond this is read from the machine when it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Outgoing {
    /// A member or [`MacAddr::BROADCAST`].
    pub(crate) to: MacAddr,
    pub(crate) content: Content,
}

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    TakeToken(Token),
    TokenIsHere(Token),
    /// TOKEN_IS_HERE to all with which a candidate becomes OWNER.
    Elected(Token),
    Ping,
    /// PING in answer to a heartbeat.
    Promise(Promise),
    TokenWasHereRecently(Token, MacAddr),
    WhereIsToken,
    GeneratingToken(Token),
    /// GENERATING_TOKEN to all with which a LOOSER becomes GENERATING, and why it does.
    Standing(Token, Reason),
    /// The part of the table that begins at this place.
    RingMembers {
        first: usize,
    },
    WantToken,
    Leaving,
    /// LEAVING of an address that this node had before.
    Left(MacAddr),
    Stamps(Telling),
    /// Names the members that are [named](crate::lab2::members::silence::Silence::named) then.
    Forget,
}

impl Content {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::TakeToken(_) => Kind::TakeToken,
            Self::TokenIsHere(_) | Self::Elected(_) => Kind::TokenIsHere,
            Self::Ping | Self::Promise(_) => Kind::Ping,
            Self::TokenWasHereRecently(..) => Kind::TokenWasHereRecently,
            Self::WhereIsToken => Kind::WhereIsToken,
            Self::GeneratingToken(_) | Self::Standing(..) => Kind::GeneratingToken,
            Self::RingMembers { .. } => Kind::RingMembers,
            Self::WantToken => Kind::WantToken,
            Self::Leaving | Self::Left(_) => Kind::Leaving,
            Self::Stamps(_) => Kind::Stamps,
            Self::Forget => Kind::Forget,
        }
    }
}

impl Content {
    /// Whether it tells of a token or a stamp, which must be stored first.
    pub(crate) const fn needs_storage(self) -> bool {
        match self {
            Self::TakeToken(_)
            | Self::TokenIsHere(_)
            | Self::Elected(_)
            | Self::TokenWasHereRecently(..)
            | Self::GeneratingToken(_)
            | Self::Standing(..)
            | Self::Stamps(_) => true,
            Self::Ping
            | Self::Promise(_)
            | Self::WhereIsToken
            | Self::RingMembers { .. }
            | Self::WantToken
            | Self::Leaving
            | Self::Left(_)
            | Self::Forget => false,
        }
    }
}

/// More than one input ever makes a machine say; past it the queues would allocate.
const USUAL: usize = 8;

/// First in, first out.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    waiting: VecDeque<Outgoing>,
    in_flight: VecDeque<(u64, Outgoing)>,
    next_ticket: u64,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::with_capacity(USUAL),
            in_flight: VecDeque::with_capacity(USUAL),
            next_ticket: 0,
        }
    }

    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        self.waiting.push_back(outgoing);
    }

    pub(crate) fn pop(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }

    /// Forgets what has not left yet and is such a frame.
    pub(crate) fn drop_all(&mut self, is_one: fn(Content) -> bool) {
        self.waiting.retain(|outgoing| !is_one(outgoing.content));
    }

    /// Forgets what has not left yet.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Notes that a frame is on its way to the link.
    pub(crate) fn dispatch(&mut self, outgoing: Outgoing) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.in_flight.push_back((ticket, outgoing));
        Ticket::new(ticket)
    }

    /// What the future depends on.
    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            waiting,
            in_flight,
            next_ticket,
        } = self;
        waiting.hash(writer);
        for (ticket, outgoing) in in_flight {
            // Tickets are only ever compared with each other.
            (next_ticket - ticket, outgoing).hash(writer);
        }
        in_flight.len().hash(writer);
    }

    /// The frame that a ticket belongs to.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a ticket is good for one report"
    )]
    pub(crate) fn complete(&mut self, ticket: Ticket) -> Option<Outgoing> {
        let at = self
            .in_flight
            .iter()
            .position(|(id, _)| *id == ticket.id())?;
        self.in_flight.remove(at).map(|(_, outgoing)| outgoing)
    }
}
