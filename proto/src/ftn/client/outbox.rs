//! What waits to be sent and to be told, and what every rule needs to say something.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use super::msgnum::Numbers;
use super::{Event, Options};
use crate::ftn::carrier::Part;
use crate::time::Instant;

/// A datagram to send. What it carries beyond this is read from the session when it is encoded; if
/// that is over by then, it is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Outgoing {
    /// The server's index.
    pub(super) to: usize,
    pub(super) content: Content,
}

/// What a datagram says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Content {
    Login,
    Alive,
    /// RETURN of the empty name, under this number.
    Renewal(i64),
    Logout,
    /// The outstanding REQUEST or RETURN with this number.
    Outstanding(i64),
    /// What the session says of itself to people.
    Introduction,
    /// This part of the answer to its CONFIG.
    Catalog(usize),
    /// A part of a message that is too long for a datagram.
    Part(Part),
    /// Which parts of a message with this number have come.
    Parted(i64),
}

/// First in, first out.
#[derive(Debug, Clone, Default)]
pub(super) struct Output {
    pub(super) outbox: VecDeque<Outgoing>,
    pub(super) events: VecDeque<Event>,
}

// Events are for the program: nothing follows from them.
impl Hash for Output {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { outbox, events: _ } = self;
        outbox.hash(state);
    }
}

/// What every rule needs besides what it changes.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) options: &'a Options,
    pub(super) numbers: &'a mut Numbers,
    out: &'a mut Output,
}

impl<'a> Context<'a> {
    pub(super) const fn new(
        now: Instant,
        options: &'a Options,
        numbers: &'a mut Numbers,
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
        self.out.outbox.push_back(Outgoing { to, content });
    }

    /// Has a server that serves a token of this session told what the session says of itself.
    pub(super) fn introduce(&mut self, to: usize) {
        if !self.options.introduction.is_empty() {
            self.send(to, Content::Introduction);
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.out.events.push_back(event);
    }
}
