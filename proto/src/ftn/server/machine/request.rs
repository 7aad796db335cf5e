//! REQUEST, and the grants of tokens (`docs/token-service/protocol/tokens.md` T3 to T6).

use std::net::SocketAddr;

use ring_codec::ftn::{Access, Message, Token as Entry};

use super::Server;
use super::service::ServeDecision;
use crate::backoff::Backoff;
use crate::ftn::server::tokens::Token;
use crate::ftn::server::{DropReason, Event};
use crate::ftn::{RETRY, RETRY_MAX};
use crate::time::Instant;

/// Data of a REQUEST that asks for the fencing number.
const FENCE_REQUEST: &[u8] = b"fence";
/// Maximum number of tokens whose REVOKEs one call repeats.
const REVOKES_PER_CALL_MAX: usize = 256;

#[derive(Debug, Clone, Copy)]
pub(super) struct TokenRequest<'a> {
    pub(super) session: i32,
    pub(super) msgnum: i64,
    pub(super) name: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) access: Access,
}

#[derive(Debug, PartialEq, Eq)]
enum RequestEffect {
    Late,
    /// A duplicate REQUEST. The server repeats the same GRANT.
    Again,
    Grant,
    Queue,
}

impl Server {
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        from: SocketAddr,
        request: &TokenRequest<'_>,
    ) {
        if !self.ensure_served(now, from, request.name) {
            return;
        }
        let TokenRequest {
            session,
            msgnum,
            access,
            ..
        } = *request;
        // The message is older than the session's last CATALOG, which replaced it.
        if self.sessions.is_below_floor(session, msgnum) {
            return self.drop(from, DropReason::Late);
        }
        let known = self.tokens.find(request.name);
        let Some(id) = known.or_else(|| self.new_token(request.name)) else {
            return self.drop(from, DropReason::Memory);
        };
        let mut effect = self.classify_request(id, request);
        // An immediate grant takes no memory for a queue.
        if effect == RequestEffect::Queue && self.is_free_at_once(id, session, access) {
            effect = RequestEffect::Grant;
        }
        let takes = match effect {
            RequestEffect::Late | RequestEffect::Again => None,
            RequestEffect::Grant => Some(false),
            RequestEffect::Queue => Some(true),
        };
        if takes.is_some_and(|waits| !self.free_memory_for_party(id, session, waits)) {
            return self.drop(from, DropReason::Memory);
        }
        match effect {
            RequestEffect::Late => self.drop(from, DropReason::Late),
            RequestEffect::Again => {
                self.out.counters.duplicates += 1;
                // The GRANT has the same numbers as before, and the token's present data.
                self.send_grant(id, session, request.data == FENCE_REQUEST);
            }
            RequestEffect::Grant => {
                self.grant(
                    now,
                    id,
                    session,
                    msgnum,
                    access,
                    request.data == FENCE_REQUEST,
                );
                // After a downgrade the head of the queue may share the token.
                self.grant_to_waiting(now, id);
            }
            RequestEffect::Queue => {
                let fenced = request.data == FENCE_REQUEST;
                self.tokens.link_session(session, id);
                let is_repeated = self.tokens.change(now, id, |token| {
                    token.enqueue(session, msgnum, access, fenced)
                });
                if is_repeated == Some(true) {
                    self.out.counters.duplicates += 1;
                }
                self.grant_to_waiting(now, id);
            }
        }
    }

    /// Returns whether the server answers a REQUEST or RETURN for a token. If the server does not serve the token, it
    /// redirects the client or drops the message.
    pub(super) fn ensure_served(&mut self, now: Instant, from: SocketAddr, name: &[u8]) -> bool {
        let serves = self.serve_decision(now, name);
        match serves {
            ServeDecision::Serve => {}
            ServeDecision::Redirect => self.redirect(from, DropReason::NotResponsible),
            ServeDecision::Ignore => self.drop(from, DropReason::NotServing),
        }
        serves == ServeDecision::Serve
    }

    fn classify_request(&self, id: u32, request: &TokenRequest<'_>) -> RequestEffect {
        let Some(token) = self.tokens.get(id) else {
            return RequestEffect::Late;
        };
        let TokenRequest {
            session,
            msgnum,
            access,
            ..
        } = *request;
        let party = token.party(session);
        // For a holder the msgnum of the grant decides, because it is above every RETURN that gave the token up. An
        // UPDATE with a larger msgnum does not make a REQUEST late: the REQUEST is for an upgrade, or its GRANT was
        // lost.
        if party.is_some_and(|party| party.held.is_none() && msgnum <= party.returned) {
            return RequestEffect::Late;
        }
        let queued = token.wait_of(session);
        if queued.is_some_and(|wait| msgnum < wait.msgnum) {
            return RequestEffect::Late;
        }
        let Some((party, held)) = party.and_then(|party| Some((party, party.held?))) else {
            return RequestEffect::Queue;
        };
        if msgnum == party.granted {
            return RequestEffect::Again;
        }
        if msgnum < party.granted {
            return RequestEffect::Late;
        }
        // No other holder loses anything in these cases.
        let at_once = held == access || access == Access::Shared || token.holder_count() == 1;
        if at_once {
            RequestEffect::Grant
        } else {
            RequestEffect::Queue
        }
    }

    /// Whether the server can grant a REQUEST at once, without the queue. This is possible if no session waits and the
    /// present holders allow the requested access.
    fn is_free_at_once(&self, id: u32, session: i32, access: Access) -> bool {
        let token = self.tokens.get(id);
        token.is_some_and(|token| !token.is_awaited() && token.is_free_for(session, access))
    }

    /// Grants a token to a session.
    fn grant(
        &mut self,
        now: Instant,
        id: u32,
        session: i32,
        msgnum: i64,
        access: Access,
        fenced: bool,
    ) {
        self.grants += 1;
        // The configuration number comes first, so that fencing numbers grow from server to server.
        let fence = (u128::from(self.view.number()) << 31) + u128::from(self.grants);
        let is_new = self.tokens.change(now, id, |token| {
            token.dequeue(session);
            let (party, is_new) = token.party_mut(session);
            party.granted = msgnum;
            party.set_fence(fence);
            token.set_held(session, Some(access));
            is_new
        });
        if is_new == Some(true) {
            self.tokens.link_session(session, id);
        }
        self.out.counters.grants += 1;
        self.report_holding(id, session, Event::TokenGranted);
        self.send_grant(id, session, fenced);
    }

    /// Sends GRANT to a holder.
    fn send_grant(&mut self, id: u32, session: i32, fenced: bool) {
        let (Some(token), Some(known)) = (self.tokens.get(id), self.sessions.get(session)) else {
            return;
        };
        let Some(party) = token.party(session) else {
            return;
        };
        let with_fence;
        let data = if fenced {
            with_fence = [party.fence().to_string().as_bytes(), b" ", token.data()].concat();
            &with_fence[..]
        } else {
            token.data()
        };
        let name = token.name();
        let message = Message::Grant {
            msgnum: party.granted,
            token: Entry { name, data },
        };
        self.out.send(known.address, session, message);
    }

    /// Grants the token to the first REQUEST of its queue, and to further REQUESTs in order. If the holders do not
    /// allow the access of a REQUEST, stops and asks these holders to return the token.
    pub(super) fn grant_to_waiting(&mut self, now: Instant, id: u32) {
        loop {
            let Some(token) = self.tokens.get(id) else {
                return;
            };
            let Some((place, session, wait)) = token.head() else {
                return;
            };
            let revoked = token.revoke();
            let is_free = token.is_free_for(session, wait.access);
            if self.serve_decision(now, token.name()) != ServeDecision::Serve {
                return;
            }
            if is_free {
                self.grant(now, id, session, wait.msgnum, wait.access, wait.fenced);
                continue;
            }
            // A new head of the queue waits for RETRY, not for the interval of the former head.
            if revoked.is_none_or(|(for_place, _)| for_place != place) {
                self.tokens.set_revoke(id, place, Backoff::new(now, RETRY));
                self.send_revokes(id, session);
            }
            return;
        }
    }

    /// Sends REVOKE to every holder except the session that waits.
    fn send_revokes(&mut self, id: u32, waiting: i32) {
        let Some(token) = self.tokens.get(id) else {
            return;
        };
        // A session that waits for an upgrade holds the token shared.
        for session in token.holders().filter(|&session| session != waiting) {
            if let Some(known) = self.sessions.get(session) {
                let name = token.name();
                self.out
                    .send(known.address, session, Message::Revoke { name });
                self.out.counters.revokes += 1;
            }
        }
    }

    /// Repeats REVOKEs until the first REQUEST of a queue is granted.
    pub(super) fn on_revokes_due(&mut self, now: Instant) {
        for _ in 0..REVOKES_PER_CALL_MAX {
            // REVOKEs can wait, because they are repeated anyway.
            if self.out.is_congested() {
                return;
            }
            let Some((due, id)) = self.tokens.next_revoke() else {
                return;
            };
            let token = self.tokens.get(id);
            let (head, revoke) = (token.and_then(Token::head), token.and_then(Token::revoke));
            let (Some((_, session, _)), Some((place, mut backoff))) = (head, revoke) else {
                return;
            };
            if due > now {
                return;
            }
            backoff.advance(now, RETRY_MAX);
            self.tokens.set_revoke(id, place, backoff);
            // A server that may not serve a token may not ask for it, but keeps the queue.
            if self.is_serving(now) {
                self.send_revokes(id, session);
            }
        }
    }
}
