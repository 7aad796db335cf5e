//! A session. Until the confirmation of its first renewal, the session is in the phase "proving". After this
//! confirmation, the session is live (`docs/token-service/protocol/sessions.md`).

use super::catalog::CatalogAnswers;
use super::outbox::Context;
use super::outstanding_messages::DUE_AT_ONCE;
use super::renewal::{Confirmation, Renewal};
use super::tokens::Tokens;
use super::{DropReason, Event, Loss, Options};
use crate::ftn::Configuration;
use crate::time::Instant;

/// A session. It contains all data that the client drops at the end of the session.
#[derive(Debug, Clone, Hash)]
pub(super) struct Session {
    pub(super) id: i32,
    pub(super) port: u16,
    pub(super) configuration: Configuration,
    pub(super) renewal: Renewal,
    pub(super) tokens: Tokens,
    pub(super) answers: CatalogAnswers,
}

impl Session {
    pub(super) fn new(now: Instant, id: i32, port: u16, configuration: Configuration) -> Self {
        Self {
            id,
            port,
            configuration,
            renewal: Renewal::new(now),
            tokens: Tokens::default(),
            answers: CatalogAnswers::default(),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.renewal.lease().is_some()
    }

    /// Returns the cause of the session's end, or `None` if the session still exists.
    pub(super) fn find_loss(&self, now: Instant, options: &Options) -> Option<Loss> {
        self.renewal.find_loss(now, options)
    }

    /// Returns the time of the next call of [`send_due`](Self::send_due), or of the session's end.
    pub(super) fn due(&self, options: &Options) -> Instant {
        let due = self.renewal.due().min(self.renewal.expiry(options));
        self.tokens.due().map_or(due, |tokens| due.min(tokens))
    }

    /// Sends messages that are due by `limit`.
    pub(super) fn send_due(&mut self, context: &mut Context<'_>, limit: Instant) {
        let leader = self.configuration.leader();
        self.renewal.send_due(context, leader, limit);
        self.tokens.send_due(context, &self.configuration, limit);
    }

    /// Sends new messages. Does not repeat messages whose timeout is unhandled, because the answer may already be in
    /// the socket.
    pub(super) fn send_new(&mut self, context: &mut Context<'_>) {
        self.send_due(context, DUE_AT_ONCE);
    }

    pub(super) fn on_config(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        to: i32,
        configuration: Configuration,
    ) -> Result<(), DropReason> {
        if configuration.number() < self.configuration.number() {
            return Err(DropReason::Late);
        }
        if configuration.number() > self.configuration.number() {
            self.adopt(context, configuration);
        }
        // A server that is DOWN asks under an older configuration.
        if to == self.id && !self.configuration.is_down(server) {
            self.answer_survey(context, server);
        }
        Ok(())
    }

    fn adopt(&mut self, context: &mut Context<'_>, configuration: Configuration) {
        let old = std::mem::replace(&mut self.configuration, configuration);
        let new = &self.configuration;
        // An answer names its configuration, and is late under another one.
        self.answers.clear();
        context.report(Event::Adopted {
            configuration: new.clone(),
        });
        self.tokens.adopt(&context.options.servers, &old, new);
        self.tokens.drop_listings(context, new);
        // The old leader may have confirmed renewals after it had lost its authority.
        if old.leader() != new.leader() {
            self.renewal.restart();
        }
    }

    /// Answers a survey with the next parts of the CATALOG for the server of this survey. The client makes this CATALOG
    /// only once for each configuration.
    fn answer_survey(&mut self, context: &mut Context<'_>, server: usize) {
        if !self.answers.has_answer(server) {
            // The server may have received the token from another server, without the introduction of its holder.
            context.introduce(server);
            let (tokens, configuration) = (&mut self.tokens, &self.configuration);
            self.answers
                .make_answer(context, self.id, configuration, server, tokens);
            // This follows the answer, because the FLOOR in the answer separates the old numbers from the new numbers.
            tokens.renumber(context, configuration, server);
        }
        self.answers.send_parts(context, server);
    }

    pub(super) fn on_grant(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        msgnum: i64,
        name: &[u8],
        data: &[u8],
    ) -> Result<(), DropReason> {
        if name.is_empty() {
            return self.tokens.on_page(context, server, msgnum, data);
        }
        let is_responsible = self.is_responsible(context, server, name);
        self.tokens
            .on_grant(context, is_responsible, msgnum, name, data)?;
        // Listings and logs name the programs of holders, so an introduction before a grant is useless.
        context.introduce(server);
        Ok(())
    }

    pub(super) fn on_revoke(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        name: &[u8],
    ) -> Result<(), DropReason> {
        // The RETURN that answers this REVOKE would be a renewal.
        if name.is_empty() {
            return Err(DropReason::Illegal);
        }
        if !self.is_responsible(context, server, name) {
            return Err(DropReason::NotResponsible);
        }
        self.tokens.on_revoke(context, name)
    }

    /// Handles CONFIRM of a renewal or of a RETURN.
    pub(super) fn on_confirm(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        msgnum: i64,
    ) -> Result<(), DropReason> {
        // Numbers are unique in a process, so each belongs either to a renewal or to a RETURN.
        if server == self.configuration.leader() {
            let (now, options) = (context.now, context.options);
            match self.renewal.confirm(msgnum, now, options) {
                Confirmation::Ignored => {}
                Confirmation::Renewed => return Ok(()),
                Confirmation::Live => {
                    context.report(Event::Live { session: self.id });
                    return Ok(());
                }
            }
        }
        self.tokens
            .on_confirm(context, &self.configuration, server, msgnum)
    }

    fn is_responsible(&self, context: &Context<'_>, server: usize, name: &[u8]) -> bool {
        let servers = &context.options.servers;
        servers.responsible(name, &self.configuration) == Some(server)
    }
}
