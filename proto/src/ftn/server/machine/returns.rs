//! RETURN: an update of a token, the end of a hold, or both (`docs/token-service/protocol/tokens.md` T7 and T8).

use std::net::SocketAddr;

use ring_codec::ftn::{Flags, Message};

use super::Server;
use crate::ftn::server::{DropReason, Event};
use crate::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(super) struct TokenReturn<'a> {
    pub(super) session: i32,
    pub(super) msgnum: i64,
    pub(super) name: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) flags: Flags,
}

impl Server {
    pub(super) fn on_return(&mut self, now: Instant, from: SocketAddr, returned: &TokenReturn<'_>) {
        if !self.ensure_served(now, from, returned.name) {
            return;
        }
        let TokenReturn {
            session,
            msgnum,
            data,
            flags,
            ..
        } = *returned;
        if self.sessions.is_below_floor(session, msgnum) {
            return self.drop(from, DropReason::Late);
        }
        let updates = matches!(flags, Flags::Update | Flags::Both);
        let deassigns = matches!(flags, Flags::Deassign | Flags::Both);
        // An unknown token is not remembered. Otherwise any client could fill the memory with names.
        let Some(id) = self.tokens.find(returned.name) else {
            self.out.counters.updates_refused += u64::from(updates);
            return self.send_confirm(session, msgnum);
        };
        let party = self.tokens.get(id).and_then(|token| token.party(session));
        let is_done = party.is_some_and(|party| msgnum <= party.returned);
        let holds = party.is_some_and(|party| party.held.is_some());
        let is_above = party.is_some_and(|party| msgnum > party.granted);
        // A late RETURN of an earlier hold has no msgnum above the msgnum of the present grant.
        let acts = holds && is_above && !is_done;
        if is_done {
            self.out.counters.duplicates += 1;
        } else if updates && !holds {
            self.out.counters.updates_refused += 1;
        }
        if acts && updates && !self.free_memory_for_data(id, data.len()) {
            return self.drop(from, DropReason::Memory);
        }
        if acts && updates {
            self.out.counters.updates += 1;
        }
        if acts && deassigns {
            self.report_holding(id, session, Event::TokenReturned);
        }
        if party.is_some() {
            self.tokens.change(now, id, |token| {
                if acts && updates && token.data() != data {
                    token.set_data(data);
                }
                if acts && deassigns {
                    token.set_held(session, None);
                }
                // A REQUEST with a larger number was sent after this RETURN, and stays queued.
                let cancels = deassigns
                    && token.wait_of(session).is_some_and(|it| it.msgnum < msgnum)
                    && token.dequeue(session);
                let (party, _) = token.party_mut(session);
                if acts || cancels {
                    party.returned = party.returned.max(msgnum);
                }
            });
        }
        self.send_confirm(session, msgnum);
        self.grant_to_waiting(now, id);
    }

    pub(super) fn send_confirm(&mut self, session: i32, msgnum: i64) {
        if let Some(known) = self.sessions.get(session) {
            self.out
                .send(known.address, session, Message::Confirm { msgnum });
        }
    }
}
