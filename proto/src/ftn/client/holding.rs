//! What a session knows of one token: awaited, held or on its way back.

use ring_codec::ftn::{Access, Flags};

use crate::ftn::catalog;

/// A token of the session. One that is none of these is not in its table.
#[derive(Debug, Clone, Hash)]
pub(super) enum Token {
    /// It is not held; a REQUEST is outstanding.
    Awaited(Request),
    Held(Held),
    /// A RETURN with DEASSIGN is outstanding.
    Leaving(Leaving),
}

/// How a program wants a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Want {
    pub(super) access: Access,
    pub(super) fence: bool,
}

/// An outstanding REQUEST.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Request {
    pub(super) number: i64,
    pub(super) want: Want,
}

/// A grant.
#[derive(Debug, Clone, Hash)]
pub(super) struct Hold {
    pub(super) access: Access,
    pub(super) fence: Option<u128>,
    /// As granted, or last confirmed.
    pub(super) data: Box<[u8]>,
    /// Whether an update was confirmed since the grant.
    pub(super) updated: bool,
}

/// A token that is held.
#[derive(Debug, Clone, Hash)]
pub(super) struct Held {
    pub(super) hold: Hold,
    /// Whether the program was told that somebody else waits.
    pub(super) revoked: bool,
    /// An outstanding REQUEST for the other access.
    pub(super) request: Option<Request>,
    /// A RETURN with UPDATE alone. Beside a REQUEST it has the larger number: at or
    /// below the grant it would be confirmed without being done.
    pub(super) update: Option<Update>,
}

/// A RETURN with UPDATE, and what waits behind it.
#[derive(Debug, Clone, Hash)]
pub(super) struct Update {
    /// `None`: it is not outstanding yet, since a REQUEST is that is no upgrade.
    pub(super) number: Option<i64>,
    pub(super) data: Box<[u8]>,
    /// A later update.
    pub(super) then_data: Option<Box<[u8]>>,
    /// The token is then given back.
    pub(super) then_leave: bool,
    /// The token is then requested with this access.
    pub(super) then_request: Option<Want>,
}

/// An outstanding RETURN with DEASSIGN.
#[derive(Debug, Clone, Hash)]
pub(super) struct Leaving {
    pub(super) number: i64,
    /// How it was held; `None`: it was not.
    pub(super) held: Option<Hold>,
    /// The data that it is given back with, if they are to change.
    pub(super) update: Option<Box<[u8]>>,
    /// Whether the program has asked for it.
    pub(super) asked: bool,
    /// The token is requested like this when it is confirmed.
    pub(super) then_request: Option<Want>,
}

impl Held {
    pub(super) const fn new(hold: Hold) -> Self {
        Self {
            hold,
            revoked: false,
            request: None,
            update: None,
        }
    }

    /// Asks for the other access. Who asks for a downgrade shares from now on: the server lets others join as soon as
    /// it has the REQUEST, long before its GRANT comes, and an heir must not hear of an exclusive hold then.
    pub(super) const fn ask(&mut self, request: Request) {
        if matches!(request.want.access, Access::Shared) {
            self.hold.access = Access::Shared;
            self.hold.updated = false;
        }
        self.request = Some(request);
    }

    /// Whether it is asked for exclusively.
    pub(super) fn awaits_upgrade(&self) -> bool {
        let access = self.request.map(|request| request.want.access);
        access == Some(Access::Exclusive)
    }

    /// Whether it is to be given back as soon as an update is confirmed.
    pub(super) fn is_to_leave(&self) -> bool {
        self.update.as_ref().is_some_and(|update| update.then_leave)
    }
}

impl Update {
    pub(super) const fn new(number: Option<i64>, data: Box<[u8]>) -> Self {
        Self {
            number,
            data,
            then_data: None,
            then_leave: false,
            then_request: None,
        }
    }
}

impl Leaving {
    pub(super) const fn flags(&self) -> Flags {
        match self.update {
            Some(_) => Flags::Both,
            None => Flags::Deassign,
        }
    }
}

impl Token {
    /// The numbers of its outstanding messages.
    pub(super) fn numbers(&self) -> [Option<i64>; 2] {
        match self {
            Self::Awaited(request) => [Some(request.number), None],
            Self::Held(held) => [
                held.request.map(|request| request.number),
                held.update.as_ref().and_then(|update| update.number),
            ],
            Self::Leaving(leaving) => [Some(leaving.number), None],
        }
    }

    /// Gives an outstanding message another number.
    pub(super) fn renumber(&mut self, old: i64, new: i64) {
        let (first, second) = match self {
            Self::Awaited(request) => (Some(&mut request.number), None),
            Self::Held(held) => (
                held.request.as_mut().map(|request| &mut request.number),
                held.update
                    .as_mut()
                    .and_then(|update| update.number.as_mut()),
            ),
            Self::Leaving(leaving) => (Some(&mut leaving.number), None),
        };
        let mut numbers = [first, second].into_iter().flatten();
        if let Some(number) = numbers.find(|number| **number == old) {
            *number = new;
        }
    }

    /// How a CATALOG lists it; `None`: not at all.
    pub(super) fn listed(&self) -> Option<(catalog::Holding, &Hold)> {
        match self {
            Self::Awaited(_) => None,
            Self::Held(Held { hold, .. }) => Some((kind(hold, false), hold)),
            Self::Leaving(leaving) => leaving.held.as_ref().map(|hold| (kind(hold, true), hold)),
        }
    }
}

const fn kind(hold: &Hold, is_leaving: bool) -> catalog::Holding {
    match (hold.access, is_leaving) {
        (Access::Exclusive, false) => catalog::Holding::Exclusive,
        (Access::Exclusive, true) => catalog::Holding::ReturningExclusive,
        (Access::Shared, true) => catalog::Holding::ReturningShared,
        (Access::Shared, false) if hold.updated => catalog::Holding::Updated,
        (Access::Shared, false) => catalog::Holding::Shared,
    }
}
