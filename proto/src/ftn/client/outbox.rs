//! Queues of datagrams and events, and the context in which rules use them.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use super::msgnum::MessageNumbers;
use super::{Event, Options};
use crate::ftn::carrier::Part;
use crate::time::Instant;

/// A datagram to send. When the driver fetches the datagram, the client encodes it from the session's data. If the
/// session ends before the driver fetches a datagram, the client does not send this datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
// A waiting datagram only names its content. So an answer that arrives in the meantime cancels the datagram.
pub(super) struct OutgoingDatagram {
    /// Index of the server.
    pub(super) to: usize,
    pub(super) content: Content,
}

/// Contents of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Content {
    Login,
    Alive,
    /// RETURN of the empty name, with this number.
    Renewal(i64),
    Logout,
    /// The outstanding REQUEST or RETURN with this number.
    Outstanding(i64),
    /// The text that describes the session to people.
    Introduction,
    /// The part of the CATALOG for the server, by number.
    Catalog(usize),
    /// A part of a message that is too long for a datagram.
    Part(Part),
    /// PARTED for the message with this number.
    Parted(i64),
}

/// Queues, first in, first out.
#[derive(Debug, Clone, Default)]
pub(super) struct Output {
    pub(super) outbox: VecDeque<OutgoingDatagram>,
    pub(super) events: VecDeque<Event>,
}

// Events do not influence the client, so clients that differ only in events count as equal.
impl Hash for Output {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { outbox, events: _ } = self;
        outbox.hash(state);
    }
}

/// Inputs and outputs of every rule.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) options: &'a Options,
    pub(super) numbers: &'a mut MessageNumbers,
    out: &'a mut Output,
}

impl<'a> Context<'a> {
    pub(super) const fn new(
        now: Instant,
        options: &'a Options,
        numbers: &'a mut MessageNumbers,
        out: &'a mut Output,
    ) -> Self {
        Self {
            now,
            options,
            numbers,
            out,
        }
    }

    pub(super) fn send(&mut self, to: usize, content: Content) {
        self.out.outbox.push_back(OutgoingDatagram { to, content });
    }

    /// Sends the session's introduction to a server, if the client has an introduction.
    pub(super) fn introduce(&mut self, to: usize) {
        if !self.options.introduction.is_empty() {
            self.send(to, Content::Introduction);
        }
    }

    pub(super) fn report(&mut self, event: Event) {
        self.out.events.push_back(event);
    }
}
