//! The state of one token in a session: awaited, held or being returned.

use ring_codec::ftn::{Access, Flags};

use crate::ftn::catalog;

/// State of a token in the session's table.
#[derive(Debug, Clone, Hash)]
pub(super) enum TokenState {
    /// The token is not held, and a REQUEST is outstanding.
    Awaited(Request),
    Held(HeldToken),
    /// A RETURN with DEASSIGN is outstanding.
    Returning(ReturningToken),
}

/// Options of a program's request.
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

/// A grant of a token that is held.
#[derive(Debug, Clone, Hash)]
pub(super) struct Hold {
    pub(super) access: Access,
    pub(super) fence: Option<u128>,
    /// Data of the last confirmed update, or of the grant if no update was confirmed.
    pub(super) data: Box<[u8]>,
    /// Whether an update was confirmed after the grant.
    pub(super) is_updated: bool,
}

/// A token that is held, with its outstanding messages.
#[derive(Debug, Clone, Hash)]
pub(super) struct HeldToken {
    pub(super) hold: Hold,
    /// Whether the program received `Revoked` for this grant.
    pub(super) is_revoked: bool,
    /// An outstanding REQUEST to change the access from shared to exclusive or the reverse.
    pub(super) request: Option<Request>,
    /// A RETURN that only updates the data. If a REQUEST is also outstanding, the RETURN has the larger msgnum. If the
    /// RETURN's msgnum were not above the grant's msgnum, the server would confirm the RETURN but not update the data.
    pub(super) update: Option<Update>,
}

/// A RETURN with UPDATE, and the commands that wait for its confirmation.
#[derive(Debug, Clone, Hash)]
pub(super) struct Update {
    /// Msgnum of the RETURN. While the client waits for the GRANT for a REQUEST that is no upgrade, the update waits
    /// too, and the msgnum is `None`.
    pub(super) number: Option<i64>,
    pub(super) data: Box<[u8]>,
    /// Data of a later update, which the client sends after the confirmation.
    pub(super) then_data: Option<Box<[u8]>>,
    /// Whether the client returns the token after the confirmation.
    pub(super) then_return: bool,
    /// A request that the client will make after the confirmation.
    pub(super) then_request: Option<Want>,
}

/// An outstanding RETURN with DEASSIGN.
#[derive(Debug, Clone, Hash)]
pub(super) struct ReturningToken {
    pub(super) number: i64,
    /// The hold that ends, or `None` if the client did not hold the token.
    pub(super) held: Option<Hold>,
    /// Data of an update in the same RETURN.
    pub(super) update: Option<Box<[u8]>>,
    /// Whether the program requested the return.
    pub(super) is_requested: bool,
    /// A request that the client will make after the confirmation.
    pub(super) then_request: Option<Want>,
}

impl HeldToken {
    pub(super) const fn new(hold: Hold) -> Self {
        Self {
            hold,
            // Each grant can be revoked once more.
            is_revoked: false,
            request: None,
            update: None,
        }
    }

    /// Adds a request to change the access from shared to exclusive or the reverse. A downgrade makes the token
    /// shared at once. When the server receives the REQUEST, it may grant the token to other clients at once, long
    /// before this client receives its GRANT. So this client must not report an exclusive hold to a new responsible
    /// server.
    pub(super) const fn add_request(&mut self, request: Request) {
        if matches!(request.want.access, Access::Shared) {
            self.hold.access = Access::Shared;
            self.hold.is_updated = false;
        }
        self.request = Some(request);
    }

    /// Whether the client shares the token and requests exclusive access.
    pub(super) fn is_awaiting_upgrade(&self) -> bool {
        let access = self.request.map(|request| request.want.access);
        access == Some(Access::Exclusive)
    }

    /// Whether the client returns the token as soon as the server confirms an update.
    pub(super) fn is_to_return(&self) -> bool {
        self.update
            .as_ref()
            .is_some_and(|update| update.then_return)
    }
}

impl Update {
    pub(super) const fn new(number: Option<i64>, data: Box<[u8]>) -> Self {
        Self {
            number,
            data,
            then_data: None,
            then_return: false,
            then_request: None,
        }
    }
}

impl ReturningToken {
    pub(super) const fn flags(&self) -> Flags {
        match self.update {
            Some(_) => Flags::Both,
            None => Flags::Deassign,
        }
    }
}

impl TokenState {
    /// Returns the numbers of the outstanding messages.
    // There are at most two, because only an upgrade and an update can be outstanding together.
    pub(super) fn numbers(&self) -> [Option<i64>; 2] {
        match self {
            Self::Awaited(request) => [Some(request.number), None],
            Self::Held(held) => [
                held.request.map(|request| request.number),
                held.update.as_ref().and_then(|update| update.number),
            ],
            Self::Returning(returning) => [Some(returning.number), None],
        }
    }

    /// Replaces the number of an outstanding message.
    pub(super) fn renumber(&mut self, old: i64, new: i64) {
        let (first, second) = match self {
            Self::Awaited(request) => (Some(&mut request.number), None),
            Self::Held(held) => (
                held.request.as_mut().map(|request| &mut request.number),
                held.update
                    .as_mut()
                    .and_then(|update| update.number.as_mut()),
            ),
            Self::Returning(returning) => (Some(&mut returning.number), None),
        };
        let mut numbers = [first, second].into_iter().flatten();
        // The token's other message keeps its number for now: the caller renumbers all messages in their order.
        if let Some(number) = numbers.find(|number| **number == old) {
            *number = new;
        }
    }

    /// Returns the token's entry in a CATALOG, or `None` if the CATALOG does not list the token.
    pub(super) fn catalog_entry(&self) -> Option<(catalog::HoldKind, &Hold)> {
        match self {
            // The client does not hold the token, and repeats the REQUEST to the new server.
            Self::Awaited(_) => None,
            // An outstanding upgrade changes nothing: until its grant the token is shared.
            Self::Held(HeldToken { hold, .. }) => Some((hold_kind(hold, false), hold)),
            // The server may not have applied the RETURN yet.
            Self::Returning(returning) => returning
                .held
                .as_ref()
                .map(|hold| (hold_kind(hold, true), hold)),
        }
    }
}

const fn hold_kind(hold: &Hold, is_returning: bool) -> catalog::HoldKind {
    match (hold.access, is_returning) {
        (Access::Exclusive, false) => catalog::HoldKind::Exclusive,
        (Access::Exclusive, true) => catalog::HoldKind::ReturningExclusive,
        (Access::Shared, true) => catalog::HoldKind::ReturningShared,
        (Access::Shared, false) if hold.is_updated => catalog::HoldKind::Updated,
        (Access::Shared, false) => catalog::HoldKind::Shared,
    }
}
