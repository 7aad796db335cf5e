//! Updating a token, giving it back, and the confirmation of that (`docs/ftn.md`, section 6).

use std::mem;

use super::holding::{Held, Leaving, Token, Update};
use super::outbox::Context;
use super::outstanding::Which;
use super::tokens::{LeavingAs, Tokens};
use super::{Event, Reason, Refusal};
use crate::ftn::Configuration;

impl Tokens {
    /// The program sets a held token's data.
    pub(super) fn update(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        data: Box<[u8]>,
    ) -> Result<(), Refusal> {
        let held = self.held(name)?;
        let may_send = held.request.is_none() || held.awaits_upgrade();
        match &mut held.update {
            Some(update) if update.number.is_some() => update.then_data = Some(data),
            Some(update) => update.data = data,
            None => {
                held.update = Some(Update::new(None, data));
                if may_send {
                    self.start_update(context, name);
                }
            }
        }
        Ok(())
    }

    /// Sends the update of a held token that was not sent yet.
    pub(super) fn start_update(&mut self, context: &mut Context<'_>, name: &[u8]) {
        let Some(Token::Held(held)) = self.known.get_mut(name) else {
            return;
        };
        if let Some(update) = &mut held.update
            && update.number.is_none()
        {
            let number = context.numbers.take();
            update.number = Some(number);
            self.outstanding.begin(number, name.into(), Which::Return);
        }
    }

    /// The program gives a held token back, perhaps with new data.
    pub(super) fn release(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        data: Option<Box<[u8]>>,
    ) -> Result<(), Refusal> {
        let held = self.held(name)?;
        let mut data = data;
        if let Some(update) = &mut held.update {
            if update.number.is_some() {
                update.then_data = data.or(update.then_data.take());
                update.then_leave = true;
                update.then_request = None;
                return Ok(());
            }
            data = data.or(Some(mem::take(&mut update.data)));
        }
        let leaving = LeavingAs {
            held: Some(held.hold.clone()),
            update: data,
            ..LeavingAs::not_held(true)
        };
        self.leave(context, name, leaving);
        Ok(())
    }

    /// A token that is held and not to be given back.
    fn held(&mut self, name: &[u8]) -> Result<&mut Held, Refusal> {
        match self.known.get_mut(name) {
            Some(Token::Held(held)) if !held.is_to_leave() => Ok(held),
            _ => Err(Refusal::NotHeld),
        }
    }

    /// CONFIRM(m) from a server.
    pub(super) fn confirmed(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        server: usize,
        msgnum: i64,
    ) -> Result<(), Reason> {
        let entry = self.outstanding.get(msgnum);
        let name = match entry {
            Some(entry) if entry.which == Which::Return => &entry.name,
            _ => return Err(Reason::Late),
        };
        let servers = &context.options.servers;
        if servers.responsible(name, configuration) != Some(server) {
            return Err(Reason::NotResponsible);
        }
        let Some(name) = self.outstanding.end(msgnum).map(|entry| entry.name) else {
            return Err(Reason::Late);
        };
        match self.known.remove(&name) {
            Some(Token::Held(held)) => self.updated(context, name, held),
            Some(Token::Leaving(leaving)) => self.returned(context, name, &leaving),
            Some(Token::Awaited(_)) | None => {}
        }
        Ok(())
    }

    /// A RETURN with UPDATE is confirmed; what has waited for that is done now.
    fn updated(&mut self, context: &mut Context<'_>, name: Box<[u8]>, mut held: Held) {
        let Some(update) = held.update.take() else {
            self.known.insert(name, Token::Held(held));
            return;
        };
        held.hold.data = update.data;
        held.hold.updated = true;
        context.tell(Event::Updated { name: name.clone() });
        if update.then_leave {
            let leaving = LeavingAs {
                held: Some(held.hold.clone()),
                update: update.then_data,
                asked: true,
                then_request: update.then_request,
            };
            self.known.insert(name.clone(), Token::Held(held));
            self.leave(context, &name, leaving);
            return;
        }
        if let Some(data) = update.then_data {
            let number = self.start(context, &name, Which::Return);
            held.update = Some(Update {
                then_request: update.then_request,
                ..Update::new(Some(number), data)
            });
        } else if let Some(want) = update.then_request {
            held.ask(self.start_request(context, &name, want));
        }
        self.known.insert(name, Token::Held(held));
    }

    /// A RETURN with DEASSIGN is confirmed: only now the token may be requested again.
    fn returned(&mut self, context: &mut Context<'_>, name: Box<[u8]>, leaving: &Leaving) {
        if leaving.update.is_some() {
            context.tell(Event::Updated { name: name.clone() });
        }
        if leaving.held.is_some() {
            context.tell(Event::Returned { name: name.clone() });
        } else if leaving.asked {
            context.tell(Event::Cancelled { name: name.clone() });
        }
        if let Some(want) = leaving.then_request {
            let request = self.start_request(context, &name, want);
            self.known.insert(name, Token::Awaited(request));
        }
    }
}
