//! The candidate's side of a pass, in the machine (`docs/jitterbug.md`, sections 7 and 10).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::inbound::{Exchange, Offer, Progress, Token};
use crate::jitterbug::nodes::Changes;
use crate::jitterbug::role::{End, Role};
use crate::jitterbug::tokens::Rank;
use crate::jitterbug::{Acceptance, Event, Reason};
use crate::{StreamId, StreamOp};

/// The most nodes of one list that only its giver knows: a subnet of 24 bits has no more.
const NEW_PER_LIST: usize = 256;
/// A node that was asked so often without an answer is not put back into a list from which another leader took it.
const SILENT_ASKS: u32 = 3;

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
            self.out.drop(exchange.from(), reason);
        }
    }

    pub(super) fn on_exchange_closed(&mut self, id: StreamId) {
        if let Some(exchange) = self.inbound.remove(id) {
            self.out.drop(exchange.from(), Reason::Reset);
        }
    }

    /// A giver has sent something, or its end. Returns how many bytes are done with.
    pub(super) fn on_offered(&mut self, id: StreamId, bytes: &[u8], end: bool) -> usize {
        let mut used = 0;
        while let Some(exchange) = self.inbound.get_mut(id) {
            // A whole token is late as well, and TP1 is not answered for nothing.
            if exchange.is_late(self.now, self.options.token_pass_timeout) {
                self.reset(id, Reason::Late);
                break;
            }
            if exchange.is_held() {
                return 0;
            }
            let rest = bytes.get(used..).unwrap_or_default();
            match exchange.receive(rest, end, &self.options) {
                Progress::Wait(count) => return used + count,
                Progress::Offered(before, offer) if self.gives_way(id, offer) => {
                    self.answer_offer(id, offer);
                    used += before + offer.len;
                }
                Progress::Offered(before, _) => return used + before,
                Progress::Complete => {
                    self.complete(id);
                    break;
                }
                Progress::Dropped(reason) => {
                    self.name_foreign(id);
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
        let Some(pass) = self.role.pass() else {
            return true;
        };
        let Some((exchange, net)) = self.inbound.get_mut(id).zip(self.net) else {
            return false;
        };
        let theirs = (offer.id.random(), exchange.from());
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

    /// Names the giver of an exchange if it is of another ring.
    fn name_foreign(&mut self, id: StreamId) {
        if let Some(exchange) = self.inbound.get_mut(id)
            && let Some(terms) = exchange.terms()
        {
            let from = exchange.from();
            self.is_foreign(from, Some(&terms));
        }
    }

    /// A token is there, whole and in time.
    fn complete(&mut self, id: StreamId) {
        let exchange = self.inbound.remove(id);
        let from = exchange.as_ref().map(Exchange::from);
        let token = exchange.and_then(Exchange::into_token);
        let Some((from, token)) = from.zip(token) else {
            return;
        };
        let incoming = Rank::of(token.id, token.terms);
        let how = match self.role {
            Role::Leader(_) => Acceptance::Merged,
            _ if self.knows_stronger(from, incoming) => Acceptance::Absorbed,
            _ => Acceptance::Taken,
        };
        self.hear_of(from, token.terms);
        self.out.event(Event::Accepted {
            how,
            token_id: token.id.random(),
            from,
        });
        self.penalties.gave(from);
        self.combine_lists(from, how, &token);
        if !self.data.receive(token.data) {
            self.out.counters.decide_failures += 1;
            self.out.event(Event::DataDropped);
        }
        self.out.operate(StreamOp::Close(id));
        let lease = token
            .terms
            .map(|terms| Duration::from_micros(terms.shortest_us.into()));
        match how {
            Acceptance::Taken => {
                self.out.counters.taken += 1;
                self.company.received(self.now, lease);
                self.set_token_id(token.id);
                self.become_leader();
            }
            Acceptance::Merged => {
                self.out.counters.merged += 1;
                self.company.received(self.now, lease);
                if token.id.compare(self.token_id).is_gt() {
                    self.set_token_id(token.id);
                    self.tell_state();
                }
            }
            Acceptance::Absorbed => self.out.counters.absorbed += 1,
        }
    }

    /// What is taken over of a received list: of nodes that only its giver knows no more than a few, and none that cannot
    /// be on the link.
    fn believe(&mut self, from: IpAddr, list: &[Node]) -> Vec<Node> {
        let mut new = 0;
        let believed = list.iter().filter(|node| {
            if self.list.knows(node.ip) || self.is_own(node.ip) || node.ip == from {
                return true;
            }
            let is_on_link = self.net.is_some_and(|net| net.is_on_link(node.ip));
            new += usize::from(is_on_link);
            is_on_link && new <= NEW_PER_LIST
        });
        let believed: Vec<Node> = believed.copied().collect();
        let left_out = list.len() - believed.len();
        if left_out > 0 {
            self.out.event(Event::ListCut { from, left_out });
        }
        believed
    }

    fn combine_lists(&mut self, from: IpAddr, how: Acceptance, token: &Token) {
        let list = token.list.as_deref().map(|list| self.believe(from, list));
        let changes = match (how, &list, self.own()) {
            (Acceptance::Taken, Some(received), Some(own)) => {
                let (peers, penalties) = (&self.peers, &self.penalties);
                let is_silent = |node: &Node| {
                    !peers.has_heard(node.ip) && penalties.of(node.ip).0 >= SILENT_ASKS
                };
                self.list.take(received, own, is_silent)
            }
            (Acceptance::Taken, None, Some(own)) => self.list.put_own(own),
            (Acceptance::Merged, Some(received), _) => self.list.merge(received),
            (Acceptance::Absorbed, Some(received), _) => Changes {
                refused: self.list.absorb(received),
                ..Changes::default()
            },
            // The giver's list is the own one, which has all that it has.
            _ => return,
        };
        self.refuse(&changes.refused);
        self.tell_added(&changes.added);
        for node in changes.forgotten {
            self.out.event(Event::NodeForgotten { node });
        }
    }
}
