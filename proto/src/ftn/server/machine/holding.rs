//! Events that show people which session holds a token. The rules of the protocol do not depend on these events.

use super::Server;
use crate::ftn::server::{Event, TokenHold};

impl Server {
    /// Returns a session's hold of a token, or `None` if the session does not hold it.
    pub(super) fn holding(&self, id: u32, session: i32) -> Option<Box<TokenHold>> {
        let token = self.tokens.get(id)?;
        let party = token.party(session).filter(|it| it.held.is_some())?;
        Some(Box::new(TokenHold {
            name: token.name().into(),
            session,
            address: self.sessions.get(session)?.address,
            program: self.sessions.introduction(session).map(Into::into),
            number: party.fence(),
        }))
    }

    /// Handles the introduction of a session's program.
    pub(super) fn on_introduction(&mut self, id: i32, text: &[u8]) {
        let Some(address) = self.sessions.get(id).map(|session| session.address) else {
            return;
        };
        if let Some(program) = self.sessions.introduce(id, text).map(Into::into) {
            self.out.report(Event::SessionIntroduced {
                id,
                address,
                program,
            });
        }
    }

    /// Reports that an ending session has lost all tokens that it held.
    pub(super) fn report_losses(&mut self, session: i32) {
        // If the session is unknown, its losses were reported before.
        if self.sessions.get(session).is_some() {
            for token in self.tokens.ids_of_session(session) {
                self.report_holding(token, session, Event::TokenLost);
            }
        }
    }

    /// Reports a session's hold of a token, if the session holds the token.
    pub(super) fn report_holding(
        &mut self,
        id: u32,
        session: i32,
        event: fn(Box<TokenHold>) -> Event,
    ) {
        if let Some(holding) = self.holding(id, session) {
            self.out.report(event(holding));
        }
    }
}
