//! Ends a session with LOGOUT (`docs/token-service/protocol/sessions.md` S32).

use super::Event;
use super::outbox::{Content, Context};
use crate::Backoff;
use crate::ftn::{Configuration, RETRY, RETRY_MAX};
use crate::time::Instant;

/// Largest number of LOGOUTs for one session.
// Three are enough, because the leader ends a silent session anyway.
const LOGOUTS_MAX: u32 = 3;

/// A client that ends its session. It holds no tokens.
#[derive(Debug, Clone, Hash)]
pub(super) struct Logout {
    pub(super) session: i32,
    configuration: Configuration,
    sent_count: u32,
    backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The client waits for an answer.
    Waiting,
    /// The logout is complete.
    Done,
}

impl Logout {
    pub(super) fn begin(
        context: &mut Context<'_>,
        session: i32,
        configuration: Configuration,
    ) -> Self {
        context.send(configuration.leader(), Content::Logout);
        Self {
            session,
            configuration,
            sent_count: 1,
            backoff: Backoff::new(context.now, RETRY),
        }
    }

    pub(super) const fn due(&self) -> Instant {
        self.backoff.due()
    }

    /// Repeats LOGOUT, or gives up. If the client gives up, the leader ends the session CT after the client's last
    /// message.
    pub(super) fn on_timeout(&mut self, context: &mut Context<'_>) -> Progress {
        if !self.backoff.is_due(context.now) {
            return Progress::Waiting;
        }
        if self.sent_count == LOGOUTS_MAX {
            context.report(Event::LoggedOut { confirmed: false });
            return Progress::Done;
        }
        self.sent_count += 1;
        self.backoff.advance(context.now, RETRY_MAX);
        context.send(self.configuration.leader(), Content::Logout);
        Progress::Waiting
    }

    /// Handles a CONFIG with `to` 0 that is not late. A CONFIG from the present leader confirms the logout. A CONFIG
    /// from a different server may name a new leader.
    pub(super) fn on_config(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        configuration: Configuration,
    ) -> Progress {
        let was = self.configuration.leader();
        self.configuration = configuration;
        let leader = self.configuration.leader();
        // A new leader has not received a LOGOUT yet, so its CONFIG confirms nothing.
        if server == leader && leader == was {
            context.report(Event::LoggedOut { confirmed: true });
            return Progress::Done;
        }
        if leader != was && self.sent_count < LOGOUTS_MAX {
            self.sent_count += 1;
            // The new leader is not the server that was silent, so it gets the full time to answer.
            self.backoff = Backoff::new(context.now, RETRY);
            context.send(leader, Content::Logout);
        }
        Progress::Waiting
    }

    pub(super) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }
}
