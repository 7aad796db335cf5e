//! A session: proving until its first renewal is confirmed, live then (`docs/ftn.md`, section 5).

use super::catalog::Answers;
use super::outbox::Context;
use super::outstanding::AT_ONCE;
use super::renewal::{Confirmed, Renewal};
use super::tokens::Tokens;
use super::{Event, Loss, Options, Reason};
use crate::ftn::Configuration;
use crate::time::Instant;

/// A session. Whatever ends with it is here.
#[derive(Debug, Clone, Hash)]
pub(super) struct Session {
    pub(super) id: i32,
    /// The port that it lives at.
    pub(super) port: u16,
    pub(super) configuration: Configuration,
    pub(super) renewal: Renewal,
    pub(super) tokens: Tokens,
    pub(super) answers: Answers,
}

impl Session {
    pub(super) fn new(now: Instant, id: i32, port: u16, configuration: Configuration) -> Self {
        Self {
            id,
            port,
            configuration,
            renewal: Renewal::new(now),
            tokens: Tokens::default(),
            answers: Answers::default(),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.renewal.lease().is_some()
    }

    /// Why it is over, if it is. Asked before anything is done with it: the process may have been stopped.
    pub(super) fn loss(&self, now: Instant, options: &Options) -> Option<Loss> {
        self.renewal.loss(now, options)
    }

    /// When [`act`](Self::act) has something to do, or the session is over.
    pub(super) fn due(&self, options: &Options) -> Instant {
        let due = self.renewal.due().min(self.renewal.end(options));
        self.tokens.due().map_or(due, |tokens| due.min(tokens))
    }

    /// Sends what is due by `limit`.
    pub(super) fn act(&mut self, context: &mut Context<'_>, limit: Instant) {
        let leader = self.configuration.leader();
        self.renewal.act(context, leader, limit);
        self.tokens.act(context, &self.configuration, limit);
    }

    /// Sends what is new. What is to be repeated waits for its time-out: the answer may lie in the socket.
    pub(super) fn act_at_once(&mut self, context: &mut Context<'_>) {
        self.act(context, AT_ONCE);
    }

    /// CONFIG from a server, to this session or to nobody.
    pub(super) fn on_config(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        to: i32,
        configuration: Configuration,
    ) -> Result<(), Reason> {
        if configuration.number() < self.configuration.number() {
            return Err(Reason::Late);
        }
        if configuration.number() > self.configuration.number() {
            self.adopt(context, configuration);
        }
        if to == self.id && !self.configuration.is_down(server) {
            self.answer(context, server);
        }
        Ok(())
    }

    fn adopt(&mut self, context: &mut Context<'_>, configuration: Configuration) {
        let old = std::mem::replace(&mut self.configuration, configuration);
        let new = &self.configuration;
        self.answers.clear();
        context.tell(Event::Adopted {
            configuration: new.clone(),
        });
        self.tokens.adopt(&context.options.servers, &old, new);
        self.tokens.drop_listings(context, new);
        if old.leader() != new.leader() {
            self.renewal.restart();
        }
    }

    /// Answers a survey with the next parts of the CATALOG for this server, which is made once.
    fn answer(&mut self, context: &mut Context<'_>, server: usize) {
        if !self.answers.has(server) {
            context.introduce(server);
            let (tokens, configuration) = (&mut self.tokens, &self.configuration);
            self.answers
                .make(context, self.id, configuration, server, tokens);
            tokens.renumber(context, configuration, server);
        }
        self.answers.send(context, server);
    }

    /// GRANT from a server.
    pub(super) fn on_grant(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        msgnum: i64,
        name: &[u8],
        data: &[u8],
    ) -> Result<(), Reason> {
        if name.is_empty() {
            return self.tokens.listed(context, server, msgnum, data);
        }
        let is_responsible = self.is_responsible(context, server, name);
        self.tokens
            .granted(context, is_responsible, msgnum, name, data)?;
        context.introduce(server);
        Ok(())
    }

    /// REVOKE from a server.
    pub(super) fn on_revoke(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        name: &[u8],
    ) -> Result<(), Reason> {
        if name.is_empty() {
            return Err(Reason::Illegal);
        }
        if !self.is_responsible(context, server, name) {
            return Err(Reason::NotResponsible);
        }
        self.tokens.revoked(context, name)
    }

    /// CONFIRM from a server: of a renewal, or of a RETURN.
    pub(super) fn on_confirm(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        msgnum: i64,
    ) -> Result<(), Reason> {
        if server == self.configuration.leader() {
            let (now, options) = (context.now, context.options);
            match self.renewal.confirm(msgnum, now, options) {
                Confirmed::Nothing => {}
                Confirmed::Renewed => return Ok(()),
                Confirmed::Live => {
                    context.tell(Event::Live { session: self.id });
                    return Ok(());
                }
            }
        }
        self.tokens
            .confirmed(context, &self.configuration, server, msgnum)
    }

    fn is_responsible(&self, context: &Context<'_>, server: usize, name: &[u8]) -> bool {
        let servers = &context.options.servers;
        servers.responsible(name, &self.configuration) == Some(server)
    }
}
