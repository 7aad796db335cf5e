//! REQUEST, and who is granted a token (`docs/ftn.md`, section 6).

use std::net::SocketAddr;

use ring_codec::ftn::{Access, Message, Token as Entry};

use super::Server;
use super::serving::Serves;
use crate::backoff::Backoff;
use crate::ftn::server::tokens::Token;
use crate::ftn::server::{Event, Reason};
use crate::ftn::{RETRY, RETRY_MAX};
use crate::time::Instant;

/// REQUEST's data by which a client asks for the fencing number.
const FENCE: &[u8] = b"fence";
/// How many tokens' REVOKEs a call repeats at most.
const REVOKED: usize = 256;

/// A REQUEST for a token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) session: i32,
    pub(super) msgnum: i64,
    pub(super) name: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) access: Access,
}

/// What becomes of a REQUEST.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Late,
    /// The same GRANT again.
    Again,
    Grant,
    Queue,
}

impl Server {
    pub(super) fn on_request(&mut self, now: Instant, from: SocketAddr, wanted: &Wanted<'_>) {
        if !self.may_answer_token(now, from, wanted.name) {
            return;
        }
        let Wanted {
            session,
            msgnum,
            access,
            ..
        } = *wanted;
        if self.sessions.is_below_floor(session, msgnum) {
            return self.drop(from, Reason::Late);
        }
        let known = self.tokens.find(wanted.name);
        let Some(id) = known.or_else(|| self.new_token(wanted.name)) else {
            return self.drop(from, Reason::Memory);
        };
        let mut answer = self.answer(id, wanted);
        if answer == Answer::Queue && self.is_free_at_once(id, session, access) {
            answer = Answer::Grant;
        }
        let takes = match answer {
            Answer::Late | Answer::Again => None,
            Answer::Grant => Some(false),
            Answer::Queue => Some(true),
        };
        if takes.is_some_and(|waits| !self.may_join(id, session, waits)) {
            return self.drop(from, Reason::Memory);
        }
        match answer {
            Answer::Late => self.drop(from, Reason::Late),
            Answer::Again => {
                self.out.counters.duplicates += 1;
                self.send_grant(id, session, wanted.data == FENCE);
            }
            Answer::Grant => {
                self.grant(now, id, session, msgnum, access, wanted.data == FENCE);
                self.advance(now, id);
            }
            Answer::Queue => {
                let fenced = wanted.data == FENCE;
                self.tokens.relate(session, id);
                let is_repeated = self.tokens.change(now, id, |token| {
                    token.enqueue(session, msgnum, access, fenced)
                });
                if is_repeated == Some(true) {
                    self.out.counters.duplicates += 1;
                }
                self.advance(now, id);
            }
        }
    }

    /// Whether a REQUEST or RETURN for a token is to be answered. If not, that is seen to.
    pub(super) fn may_answer_token(&mut self, now: Instant, from: SocketAddr, name: &[u8]) -> bool {
        let serves = self.serves(now, name);
        match serves {
            Serves::Yes => {}
            Serves::Elsewhere => self.redirect(from, Reason::NotResponsible),
            Serves::NotNow => self.drop(from, Reason::NotServing),
        }
        serves == Serves::Yes
    }

    fn answer(&self, id: u32, wanted: &Wanted<'_>) -> Answer {
        let Some(token) = self.tokens.get(id) else {
            return Answer::Late;
        };
        let Wanted {
            session,
            msgnum,
            access,
            ..
        } = *wanted;
        let party = token.party(session);
        // Of a holder the grant decides, which is above every RETURN that gave the token up. An UPDATE above the
        // REQUEST makes it not late: it is the one for an upgrade, or its GRANT was lost.
        if party.is_some_and(|party| party.held.is_none() && msgnum <= party.returned) {
            return Answer::Late;
        }
        let queued = token.wait_of(session);
        if queued.is_some_and(|wait| msgnum < wait.msgnum) {
            return Answer::Late;
        }
        let Some((party, held)) = party.and_then(|party| Some((party, party.held?))) else {
            return Answer::Queue;
        };
        if msgnum == party.granted {
            return Answer::Again;
        }
        if msgnum < party.granted {
            return Answer::Late;
        }
        let at_once = held == access || access == Access::Shared || token.holders() == 1;
        if at_once {
            Answer::Grant
        } else {
            Answer::Queue
        }
    }

    /// Whether a REQUEST would be granted as soon as it is queued: nobody waits, nobody stands against it.
    fn is_free_at_once(&self, id: u32, session: i32, access: Access) -> bool {
        let token = self.tokens.get(id);
        token.is_some_and(|token| !token.is_awaited() && token.is_free_for(session, access))
    }

    /// A session holds a token from now on, by this REQUEST.
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
            self.tokens.relate(session, id);
        }
        self.out.counters.grants += 1;
        self.tell_holding(id, session, Event::TokenGranted);
        self.send_grant(id, session, fenced);
    }

    /// Sends GRANT to who holds a token.
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

    /// Grants a token to those at the head of its queue, as far as nobody stands against them; if somebody
    /// does, it is asked to return it.
    pub(super) fn advance(&mut self, now: Instant, id: u32) {
        loop {
            let Some(token) = self.tokens.get(id) else {
                return;
            };
            let Some((place, session, wait)) = token.head() else {
                return;
            };
            let revoked = token.revoke();
            let is_free = token.is_free_for(session, wait.access);
            if self.serves(now, token.name()) != Serves::Yes {
                return;
            }
            if is_free {
                self.grant(now, id, session, wait.msgnum, wait.access, wait.fenced);
                continue;
            }
            if revoked.is_none_or(|(for_place, _)| for_place != place) {
                self.tokens.set_revoke(id, place, Backoff::new(now, RETRY));
                self.send_revokes(id, session);
            }
            return;
        }
    }

    /// Asks every holder but one, who waits, to return a token.
    fn send_revokes(&mut self, id: u32, waiting: i32) {
        let Some(token) = self.tokens.get(id) else {
            return;
        };
        for session in token.holding().filter(|&session| session != waiting) {
            if let Some(known) = self.sessions.get(session) {
                let name = token.name();
                self.out
                    .send(known.address, session, Message::Revoke { name });
                self.out.counters.revokes += 1;
            }
        }
    }

    /// Repeats REVOKE for as long as the head of a queue is not granted.
    pub(super) fn on_revokes_due(&mut self, now: Instant) {
        for _ in 0..REVOKED {
            if self.out.is_long() {
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
            backoff.repeated(now, RETRY_MAX);
            self.tokens.set_revoke(id, place, backoff);
            if self.is_serving(now) {
                self.send_revokes(id, session);
            }
        }
    }
}
