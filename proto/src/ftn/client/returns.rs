//! Updates and returns of tokens, and their confirmations (`docs/token-service/protocol/tokens.md` T14 to T17).

use std::mem;

use super::holding::{HeldToken, ReturningToken, TokenState, Update};
use super::outbox::Context;
use super::outstanding_messages::MessageKind;
use super::tokens::{ReturnPlan, Tokens};
use super::{DropReason, Event, Refusal};
use crate::ftn::Configuration;

impl Tokens {
    /// Sets the data of a held token for the program.
    pub(super) fn update(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        data: Box<[u8]>,
    ) -> Result<(), Refusal> {
        let held = self.held_token(name)?;
        // During a REQUEST that is no upgrade, the update waits, because its number must be above the number of the
        // grant.
        let may_send = held.request.is_none() || held.is_awaiting_upgrade();
        match &mut held.update {
            // Only the last of several waiting updates counts.
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

    /// Sends the update of a held token, unless it was already sent.
    pub(super) fn start_update(&mut self, context: &mut Context<'_>, name: &[u8]) {
        let Some(TokenState::Held(held)) = self.by_name.get_mut(name) else {
            return;
        };
        if let Some(update) = &mut held.update
            && update.number.is_none()
        {
            let number = context.numbers.take();
            update.number = Some(number);
            self.outstanding
                .begin(number, name.into(), MessageKind::Return);
        }
    }

    /// Returns a held token on behalf of the program, perhaps with new data.
    pub(super) fn release(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        data: Option<Box<[u8]>>,
    ) -> Result<(), Refusal> {
        let held = self.held_token(name)?;
        let mut data = data;
        if let Some(update) = &mut held.update {
            // The return waits, so that the program learns whether its update was applied.
            if update.number.is_some() {
                // New data of the release replace the data of an update that still waits.
                update.then_data = data.or(update.then_data.take());
                update.then_return = true;
                // The program no longer wants the token.
                update.then_request = None;
                return Ok(());
            }
            data = data.or(Some(mem::take(&mut update.data)));
        }
        let returning = ReturnPlan {
            held: Some(held.hold.clone()),
            update: data,
            ..ReturnPlan::not_held(true)
        };
        self.start_return(context, name, returning);
        Ok(())
    }

    fn held_token(&mut self, name: &[u8]) -> Result<&mut HeldToken, Refusal> {
        match self.by_name.get_mut(name) {
            Some(TokenState::Held(held)) if !held.is_to_return() => Ok(held),
            _ => Err(Refusal::NotHeld),
        }
    }

    /// Handles CONFIRM(m) of a RETURN.
    pub(super) fn on_confirm(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        server: usize,
        msgnum: i64,
    ) -> Result<(), DropReason> {
        let entry = self.outstanding.get(msgnum);
        let name = match entry {
            Some(entry) if entry.kind == MessageKind::Return => &entry.name,
            _ => return Err(DropReason::Late),
        };
        let servers = &context.options.servers;
        // A former server may have applied the RETURN after it handed the token over.
        if servers.responsible(name, configuration) != Some(server) {
            return Err(DropReason::NotResponsible);
        }
        let Some(name) = self.outstanding.end(msgnum).map(|entry| entry.name) else {
            return Err(DropReason::Late);
        };
        match self.by_name.remove(&name) {
            Some(TokenState::Held(held)) => self.on_update_confirmed(context, name, held),
            Some(TokenState::Returning(returning)) => {
                self.on_return_confirmed(context, name, &returning);
            }
            Some(TokenState::Awaited(_)) | None => {}
        }
        Ok(())
    }

    /// Handles the confirmation of a RETURN with UPDATE, and starts the command that waited for it.
    fn on_update_confirmed(
        &mut self,
        context: &mut Context<'_>,
        name: Box<[u8]>,
        mut held: HeldToken,
    ) {
        let Some(update) = held.update.take() else {
            self.by_name.insert(name, TokenState::Held(held));
            return;
        };
        held.hold.data = update.data;
        // A CATALOG then lists `u`, so that these data win over the data of other sharers.
        held.hold.is_updated = true;
        context.report(Event::Updated { name: name.clone() });
        if update.then_return {
            let returning = ReturnPlan {
                held: Some(held.hold.clone()),
                update: update.then_data,
                is_requested: true,
                then_request: update.then_request,
            };
            self.by_name.insert(name.clone(), TokenState::Held(held));
            self.start_return(context, &name, returning);
            return;
        }
        if let Some(data) = update.then_data {
            let number = self.start_message(context, &name, MessageKind::Return);
            held.update = Some(Update {
                then_request: update.then_request,
                ..Update::new(Some(number), data)
            });
        } else if let Some(want) = update.then_request {
            held.add_request(self.start_request(context, &name, want));
        }
        self.by_name.insert(name, TokenState::Held(held));
    }

    /// Handles the confirmation of a RETURN with DEASSIGN. The client may request the token again only after this
    /// confirmation.
    fn on_return_confirmed(
        &mut self,
        context: &mut Context<'_>,
        name: Box<[u8]>,
        returning: &ReturningToken,
    ) {
        if returning.update.is_some() {
            context.report(Event::Updated { name: name.clone() });
        }
        if returning.held.is_some() {
            context.report(Event::Returned { name: name.clone() });
        } else if returning.is_requested {
            context.report(Event::Cancelled { name: name.clone() });
        }
        if let Some(want) = returning.then_request {
            let request = self.start_request(context, &name, want);
            self.by_name.insert(name, TokenState::Awaited(request));
        }
    }
}
