//! The candidate's side of a pass, in the machine (`docs/jitterbug.md`, sections 7 and 10).

use std::net::IpAddr;

use super::exchange::{Exchange, Offer, Progress, Token};
use super::list::Changes;
use super::pass::End;
use super::role::Role;
use super::{Acceptance, Event, Jitterbug, Reason};
use crate::{StreamId, StreamOp};

impl Jitterbug {
    pub(super) fn on_accepted(&mut self, id: StreamId, from: IpAddr) {
        let is_peer = self.net.is_some_and(|net| net.is_on_link(from)) && !self.is_own(from);
        if !is_peer {
            self.out.operate(StreamOp::Abort(id));
            return self.out.drop(from, Reason::OffLink);
        }
        for (reset, from) in self.inbound.accept(id, from, self.now) {
            self.out.operate(StreamOp::Abort(reset));
            self.out.drop(from, Reason::TooMany);
        }
    }

    /// Resets an exchange, of which nothing counts.
    pub(super) fn reset(&mut self, id: StreamId, reason: Reason) {
        if let Some(exchange) = self.inbound.remove(id) {
            self.out.operate(StreamOp::Abort(id));
            self.out.drop(exchange.from, reason);
        }
    }

    pub(super) fn on_exchange_closed(&mut self, id: StreamId) {
        if let Some(exchange) = self.inbound.remove(id) {
            self.out.drop(exchange.from, Reason::Reset);
        }
    }

    /// A giver has sent something, or its end. Returns how many bytes are done with.
    pub(super) fn on_offered(&mut self, id: StreamId, bytes: &[u8], end: bool) -> usize {
        let mut used = 0;
        while let Some(exchange) = self.inbound.get_mut(id) {
            // A whole token is late as well, and TP1 is not answered for nothing.
            if exchange.accepted + self.options.token_pass_timeout <= self.now {
                self.reset(id, Reason::Late);
                break;
            }
            if exchange.is_held() {
                return 0;
            }
            let rest = bytes.get(used..).unwrap_or_default();
            match exchange.receive(rest, end, &self.options) {
                Progress::Wait(count) => return used + count,
                Progress::Offered(offer) if self.gives_way(id, offer) => {
                    self.answer_offer(id, offer);
                    used += offer.len;
                }
                Progress::Offered(_) => return used,
                Progress::Complete => {
                    self.complete(id);
                    break;
                }
                Progress::Dropped(reason) => {
                    self.reset(id, reason);
                    break;
                }
            }
        }
        bytes.len()
    }

    /// Whether an offer is answered now. A node that is giving its own token away either breaks that off for a stronger
    /// one, or leaves the offer for later: never does it both give and take.
    fn gives_way(&mut self, id: StreamId, offer: Offer) -> bool {
        let Some(pass) = self.role.turn().and_then(|turn| turn.pass()) else {
            return true;
        };
        let Some((exchange, net)) = self.inbound.get_mut(id).zip(self.net) else {
            return false;
        };
        let theirs = (offer.id.random(), exchange.from);
        if theirs > (self.token_id.random(), net.address) && !pass.has_sent_token() {
            self.end_pass(End::Aborted);
            return true;
        }
        exchange.hold();
        false
    }

    fn answer_offer(&mut self, id: StreamId, offer: Offer) {
        let hash = self.list.hash();
        if let Some(exchange) = self.inbound.get_mut(id) {
            exchange.answer(offer, hash);
            self.out.operate(StreamOp::Write(id));
        }
    }

    /// A token is there, whole and in time.
    fn complete(&mut self, id: StreamId) {
        let exchange = self.inbound.remove(id);
        let from = exchange.as_ref().map(|exchange| exchange.from);
        let token = exchange.and_then(Exchange::into_token);
        let Some((from, token)) = from.zip(token) else {
            return;
        };
        let period = self.options.renew_timeout;
        let how = match self.role {
            Role::Leader(_) => Acceptance::Merged,
            _ if self.gave.is_stronger(token.id, self.now, period) => Acceptance::Absorbed,
            _ => Acceptance::Taken,
        };
        self.out.event(Event::Accepted {
            how,
            token_id: token.id.random(),
            from,
        });
        self.penalties.gave(from);
        self.combine_lists(how, &token);
        if !self.data.receive(token.data) {
            self.out.counters.decide_failures += 1;
            self.out.event(Event::DataDropped);
        }
        self.out.operate(StreamOp::Close(id));
        match how {
            Acceptance::Taken => {
                self.out.counters.taken += 1;
                self.set_token_id(token.id);
                self.become_leader();
            }
            Acceptance::Merged => {
                self.out.counters.merged += 1;
                if token.id.compare(self.token_id).is_gt() {
                    self.set_token_id(token.id);
                    self.tell_state();
                }
            }
            Acceptance::Absorbed => self.out.counters.absorbed += 1,
        }
    }

    fn combine_lists(&mut self, how: Acceptance, token: &Token) {
        let changes = match (how, &token.list, self.own()) {
            (Acceptance::Taken, Some(received), Some(own)) => self.list.take(received, own),
            (Acceptance::Taken, None, Some(own)) => self.list.put_own(own),
            (Acceptance::Merged, Some(received), _) => self.list.merge(received),
            (Acceptance::Absorbed, Some(received), _) => Changes {
                refused: self.list.absorb(received),
                added: Vec::new(),
            },
            // The giver's list is the own one, which has all that it has.
            _ => return,
        };
        self.refuse(&changes.refused);
        self.tell_added(&changes.added);
    }
}
