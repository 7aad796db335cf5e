//! Checks the program's commands and passes them to the rules.

use super::holding::Want;
use super::outbox::Context;
use super::phase::Phase;
use super::session::Session;
use super::{Client, Command, Event, Refusal};
use crate::ftn::{DATA_BYTES_MAX, NAME_BYTES_MAX};

impl Client {
    pub(super) fn apply_command(&mut self, command: Command) {
        match command {
            Command::Logout => self.log_out(),
            Command::Addresses(addresses) => {
                self.options.servers.update_addresses(&addresses);
            }
            Command::List { server, after } => self.list(server, &after),
            Command::Request {
                name,
                access,
                fence,
            } => {
                let want = Want { access, fence };
                self.apply_to_token(name, None, |session, context, name, _| {
                    session.tokens.request(context, name, want)
                });
            }
            Command::Update { name, data } => {
                self.apply_to_token(name, Some(data), |session, context, name, data| {
                    let data = data.unwrap_or_default();
                    session.tokens.update(context, name, data)
                });
            }
            Command::Release { name } => {
                self.apply_to_token(name, None, |session, context, name, data| {
                    session.tokens.release(context, name, data)
                });
            }
            Command::UpdateAndRelease { name, data } => {
                self.apply_to_token(name, Some(data), |session, context, name, data| {
                    session.tokens.release(context, name, data)
                });
            }
            Command::Cancel { name } => {
                self.apply_to_token(name, None, |session, context, name, _| {
                    session.tokens.cancel(context, name)
                });
            }
        }
    }

    /// Checks a command's name, data and time, and applies `rule` to the session.
    fn apply_to_token(
        &mut self,
        name: Box<[u8]>,
        data: Option<Box<[u8]>>,
        rule: impl FnOnce(
            &mut Session,
            &mut Context<'_>,
            &[u8],
            Option<Box<[u8]>>,
        ) -> Result<(), Refusal>,
    ) {
        let (phase, mut context) = self.split();
        let is_name = (1..=NAME_BYTES_MAX).contains(&name.len());
        let fits = data
            .as_ref()
            .is_none_or(|data| data.len() <= DATA_BYTES_MAX);
        let outcome = match phase {
            // On the wire the empty name marks renewals and listings, so no token can have it.
            _ if !is_name => Err(Refusal::Name),
            _ if !fits => Err(Refusal::Data),
            // Until the first renewal is confirmed, some servers may not know the session.
            Phase::Session(session) if session.is_live() => {
                rule(session, &mut context, &name, data)
            }
            _ => Err(Refusal::NotLive),
        };
        if let Err(refusal) = outcome {
            context.report(Event::Refused { name, refusal });
        }
    }

    fn list(&mut self, server: usize, after: &[u8]) {
        let (phase, mut context) = self.split();
        match phase {
            Phase::Session(session) if session.is_live() && after.len() <= NAME_BYTES_MAX => {
                let configuration = &session.configuration;
                let tokens = &mut session.tokens;
                tokens.list(&mut context, configuration, server, after);
            }
            // The event is not `Refused`, because that event names a token.
            _ => context.report(Event::ListingFailed { server }),
        }
    }
}
