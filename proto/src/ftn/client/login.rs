//! Asks all servers for a session, and selects the answer to use (`docs/token-service/protocol/sessions.md` S1 to S6).

use std::time::Duration;

use super::LoginFailure;
use super::outbox::{Content, Context};
use crate::Backoff;
use crate::ftn::{Configuration, RETRY, RETRY_MAX};
use crate::time::Instant;

/// Time for which the client waits for the answers of all servers.
const ANSWERS_WAIT: Duration = Duration::from_millis(50);
/// If the answers lead to no session within this time, the client drops them.
const ANSWERS_TIMEOUT: Duration = Duration::from_secs(2);

/// A client that asks for a session.
#[derive(Debug, Clone, Hash)]
pub(super) struct Login {
    /// Port of the client, for LOGIN.
    pub(super) port: u16,
    /// Last answer of each server.
    answers: Box<[Option<LoginAnswer>]>,
    /// Time of the first LOGIN after the client last dropped all answers.
    since: Instant,
    backoff: Backoff,
    has_other_list: bool,
}

#[derive(Debug, Clone, Hash)]
struct LoginAnswer {
    configuration: Configuration,
    /// Id of the session that the leader offers.
    session: Option<i32>,
}

/// The session that the client uses.
pub(super) struct OfferedSession {
    pub(super) session: i32,
    pub(super) configuration: Configuration,
}

impl Login {
    /// Sends LOGIN to every server.
    pub(super) fn begin(context: &mut Context<'_>, port: u16) -> Self {
        let login = Self {
            port,
            answers: vec![None; context.options.servers.len()].into(),
            since: context.now,
            backoff: Backoff::new(context.now, RETRY),
            has_other_list: false,
        };
        login.send_logins(context);
        login
    }

    fn send_logins(&self, context: &mut Context<'_>) {
        // The client does not know yet which server leads.
        for server in 0..self.answers.len() {
            context.send(server, Content::Login);
        }
    }

    pub(super) fn answer_count(&self) -> usize {
        self.answers.iter().flatten().count()
    }

    pub(super) const fn has_seen_other_list(&self) -> bool {
        self.has_other_list
    }

    pub(super) const fn set_other_list(&mut self) {
        self.has_other_list = true;
    }

    /// Records a server's answer. Returns `false` if the answer is late: the server's last answer had a larger
    /// configuration number.
    pub(super) fn record_answer(
        &mut self,
        server: usize,
        configuration: Configuration,
        session: Option<i32>,
    ) -> bool {
        let Some(answer) = self.answers.get_mut(server) else {
            return false;
        };
        let known = answer.as_ref();
        // Datagrams can overtake each other.
        if known.is_some_and(|known| known.configuration.number() > configuration.number()) {
            return false;
        }
        // Only the leader gives ids. A late CONFIG of another server can carry the id of a former session.
        let session = session.filter(|_| configuration.leader() == server);
        *answer = Some(LoginAnswer {
            configuration,
            session,
        });
        true
    }

    /// Takes the configuration with the largest number. If the leader of this configuration has given an id, returns
    /// the session that the leader offers. Returns `None` until all servers have answered or 50 ms have passed.
    pub(super) fn offered_session(&self, now: Instant) -> Option<OfferedSession> {
        let choice = self.candidate()?;
        let is_over = self.answers.iter().all(Option::is_some) || self.answers_due() <= now;
        is_over.then_some(choice)
    }

    fn candidate(&self) -> Option<OfferedSession> {
        // The largest configuration number decides, because a leader with a smaller number may no longer have
        // authority.
        let answers = self.answers.iter().flatten();
        let configuration = &answers
            .max_by_key(|answer| answer.configuration.number())?
            .configuration;
        let leader = self.answers.get(configuration.leader())?.as_ref()?;
        Some(OfferedSession {
            // The leader may have given the id under an earlier configuration that it also led.
            session: leader.session?,
            configuration: configuration.clone(),
        })
    }

    fn answers_due(&self) -> Instant {
        self.since + ANSWERS_WAIT
    }

    /// Returns the time of the next call of [`on_timeout`](Self::on_timeout).
    pub(super) fn due(&self) -> Instant {
        let due = self.backoff.due().min(self.since + ANSWERS_TIMEOUT);
        match self.candidate() {
            Some(_) => due.min(self.answers_due()),
            None => due,
        }
    }

    /// Repeats LOGIN, and drops answers that led to no session.
    pub(super) fn on_timeout(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        let is_forgotten = self.since + ANSWERS_TIMEOUT <= now;
        // The leader of the largest configuration may be gone, and the client must not wait for it indefinitely.
        if is_forgotten {
            let trouble = self.failure();
            context.report(super::Event::LoginFailed { failure: trouble });
            self.answers.fill(None);
            self.since = now;
        }
        if is_forgotten || self.backoff.is_due(now) {
            self.send_logins(context);
            self.backoff.advance(now, RETRY_MAX);
        }
    }

    fn failure(&self) -> LoginFailure {
        match self.answer_count() {
            0 if self.has_other_list => LoginFailure::OtherList,
            0 => LoginFailure::NoAnswer,
            _ => LoginFailure::NoLeader,
        }
    }
}
