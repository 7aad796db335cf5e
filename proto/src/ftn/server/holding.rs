//! Events that tell people who holds a token. No rule depends on them.

use std::net::SocketAddr;

use ring_codec::ftn::Access;

use super::{Event, Server};

/// A session's hold of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The token's name.
    pub name: Box<[u8]>,
    /// The session.
    pub session: i32,
    /// The address of its client.
    pub address: SocketAddr,
    /// The program as it has introduced itself; `None`: it has not, or to another server.
    pub program: Option<Box<str>>,
    /// Whether others may hold the token too.
    pub access: Access,
    /// The fencing number of the grant.
    pub number: u128,
}

impl Server {
    /// Returns a session's hold of a token; `None`: it does not hold it.
    pub(super) fn holding(&self, id: u32, session: i32) -> Option<Box<Holding>> {
        let token = self.tokens.get(id)?;
        let party = token.party(session)?;
        Some(Box::new(Holding {
            name: token.name().into(),
            session,
            address: self.sessions.get(session)?.address,
            program: self.sessions.introduction(session).map(Into::into),
            access: party.held?,
            number: party.fence(),
        }))
    }

    /// A session says what it is.
    pub(super) fn on_introduction(&mut self, id: i32, text: &[u8]) {
        let Some(address) = self.sessions.get(id).map(|session| session.address) else {
            return;
        };
        if let Some(program) = self.sessions.introduce(id, text).map(Into::into) {
            self.out.event(Event::SessionIntroduced {
                id,
                address,
                program,
            });
        }
    }

    /// Tells of all tokens that a session holds, because it ends.
    pub(super) fn tell_losses(&mut self, session: i32) {
        // A session that is gone was told of.
        if self.sessions.get(session).is_some() {
            for token in self.tokens.of_session(session) {
                self.tell_holding(token, session, Event::TokenLost);
            }
        }
    }

    /// Tells of a session's hold of a token, if it has one.
    pub(super) fn tell_holding(&mut self, id: u32, session: i32, event: fn(Box<Holding>) -> Event) {
        if let Some(holding) = self.holding(id, session) {
            self.out.event(event(holding));
        }
    }
}
