//! Ending a session in order (`docs/ftn.md`, section 5).

use super::Event;
use super::outbox::{Content, Context};
use crate::Backoff;
use crate::ftn::{Configuration, RETRY, RETRY_MAX};
use crate::time::Instant;

/// How often LOGOUT is sent at most.
const TIMES: u32 = 3;

/// A client that ends its session. It holds nothing.
#[derive(Debug, Clone, Hash)]
pub(super) struct Logout {
    pub(super) session: i32,
    configuration: Configuration,
    sent: u32,
    backoff: Backoff,
}

/// Whether that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It waits for an answer.
    Waits,
    /// It is done.
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
            sent: 1,
            backoff: Backoff::new(context.now, RETRY),
        }
    }

    pub(super) const fn due(&self) -> Instant {
        self.backoff.due()
    }

    /// Repeats it, or gives up: the leader ends the session a CT after its last message.
    pub(super) fn act(&mut self, context: &mut Context<'_>) -> Progress {
        if !self.backoff.is_due(context.now) {
            return Progress::Waits;
        }
        if self.sent == TIMES {
            context.tell(Event::LoggedOut { confirmed: false });
            return Progress::Done;
        }
        self.sent += 1;
        self.backoff.repeated(context.now, RETRY_MAX);
        context.send(self.configuration.leader(), Content::Logout);
        Progress::Waits
    }

    /// CONFIG(`to` 0) that is not late. From the leader it is the answer; from who is not it says who leads.
    pub(super) fn on_config(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        configuration: Configuration,
    ) -> Progress {
        let was = self.configuration.leader();
        self.configuration = configuration;
        let leader = self.configuration.leader();
        if server == leader && leader == was {
            context.tell(Event::LoggedOut { confirmed: true });
            return Progress::Done;
        }
        if leader != was && self.sent < TIMES {
            self.sent += 1;
            self.backoff = Backoff::new(context.now, RETRY);
            context.send(leader, Content::Logout);
        }
        Progress::Waits
    }

    pub(super) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }
}
