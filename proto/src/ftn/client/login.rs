//! Asking for a session, and whose answer counts (`docs/ftn.md`, section 5).

use std::time::Duration;

use super::Trouble;
use super::outbox::{Content, Context};
use crate::Backoff;
use crate::ftn::{Configuration, RETRY, RETRY_MAX};
use crate::time::Instant;

/// How long all servers may take to answer before those that have must do.
const ALL_ANSWER: Duration = Duration::from_millis(50);
/// How long answers are remembered that have not led to a session.
const REMEMBERED: Duration = Duration::from_secs(2);

/// A client that asks for a session.
#[derive(Debug, Clone, Hash)]
pub(super) struct Login {
    /// The port that the servers are told of.
    pub(super) port: u16,
    /// What each server has answered last.
    answers: Box<[Option<Answer>]>,
    /// When the first LOGIN was sent since the answers were forgotten.
    since: Instant,
    backoff: Backoff,
    other_list: bool,
}

#[derive(Debug, Clone, Hash)]
struct Answer {
    configuration: Configuration,
    /// The id that it gives as the leader.
    session: Option<i32>,
}

/// The session that a client goes with.
pub(super) struct Choice {
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
            other_list: false,
        };
        login.ask(context);
        login
    }

    fn ask(&self, context: &mut Context<'_>) {
        for server in 0..self.answers.len() {
            context.send(server, Content::Login);
        }
    }

    pub(super) fn answered(&self) -> usize {
        self.answers.iter().flatten().count()
    }

    pub(super) const fn other_list(&self) -> bool {
        self.other_list
    }

    /// Somebody was heard that has another list of servers.
    pub(super) const fn note_other_list(&mut self) {
        self.other_list = true;
    }

    /// A server's answer. Says whether it is news: a lower configuration than its last one is late.
    pub(super) fn answer(
        &mut self,
        server: usize,
        configuration: Configuration,
        session: Option<i32>,
    ) -> bool {
        let Some(answer) = self.answers.get_mut(server) else {
            return false;
        };
        let known = answer.as_ref();
        if known.is_some_and(|known| known.configuration.number() > configuration.number()) {
            return false;
        }
        // Only the leader gives ids; from others that of a former session comes, late.
        let session = session.filter(|_| configuration.leader() == server);
        *answer = Some(Answer {
            configuration,
            session,
        });
        true
    }

    /// The session to go with: that of the largest configuration, when its leader has given an id and all
    /// servers have answered or there was time to.
    pub(super) fn choice(&self, now: Instant) -> Option<Choice> {
        let choice = self.candidate()?;
        let is_over = self.answers.iter().all(Option::is_some) || self.all_due() <= now;
        is_over.then_some(choice)
    }

    fn candidate(&self) -> Option<Choice> {
        let answers = self.answers.iter().flatten();
        let configuration = &answers
            .max_by_key(|answer| answer.configuration.number())?
            .configuration;
        let leader = self.answers.get(configuration.leader())?.as_ref()?;
        Some(Choice {
            session: leader.session?,
            configuration: configuration.clone(),
        })
    }

    fn all_due(&self) -> Instant {
        self.since + ALL_ANSWER
    }

    /// When [`act`](Self::act) has something to do.
    pub(super) fn due(&self) -> Instant {
        let due = self.backoff.due().min(self.since + REMEMBERED);
        match self.candidate() {
            Some(_) => due.min(self.all_due()),
            None => due,
        }
    }

    /// Repeats what was not answered, and forgets answers that have led to nothing.
    pub(super) fn act(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        let is_forgotten = self.since + REMEMBERED <= now;
        if is_forgotten {
            let trouble = self.trouble();
            context.tell(super::Event::LoginFailed { trouble });
            self.answers.fill(None);
            self.since = now;
        }
        if is_forgotten || self.backoff.is_due(now) {
            self.ask(context);
            self.backoff.repeated(now, RETRY_MAX);
        }
    }

    const fn no_answer(&self) -> Trouble {
        if self.other_list {
            Trouble::OtherList
        } else {
            Trouble::NoAnswer
        }
    }

    fn trouble(&self) -> Trouble {
        match self.answered() {
            0 => self.no_answer(),
            _ => Trouble::NoLeader,
        }
    }
}
