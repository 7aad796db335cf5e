//! The candidate's side of a pass (`docs/jitterbug/protocol/passing.md` C1 to C12, `docs/jitterbug/protocol/lists.md`
//! E3, E5).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::inbound::{Exchange, ReadProgress, ReceivedToken, TokenOffer};
use crate::jitterbug::nodes::Changes;
use crate::jitterbug::role::{PassEnd, Role};
use crate::jitterbug::tokens::Rank;
use crate::jitterbug::{Acceptance, Event, Reason};
use crate::{StreamId, StreamOp};

/// A received list may contain at most this many nodes that are unknown to the receiver. A /24 subnet has at most this
/// many nodes. The limit exists because a forged list must not fill the lists of all nodes.
const NEW_NODES_PER_LIST_MAX: usize = 256;
/// The number of unanswered questions after which a node counts as silent. If a received list lacks a silent node,
/// another leader has removed it. Then this node does not put it back into the list.
const UNANSWERED_ASKS_MAX: u32 = 3;

impl Jitterbug {
    pub(super) fn on_accepted(&mut self, id: StreamId, from: IpAddr) {
        // A giver from another subnet would join two rings that do not hear each other's TR1.
        let is_peer = self.net.is_some_and(|net| net.is_on_link(from)) && !self.is_own(from);
        if !is_peer {
            self.out.push_operation(StreamOp::Abort(id));
            return self.out.report_drop(from, Reason::OffLink);
        }
        for (reset, from) in self.inbound.accept(id, from, self.now) {
            self.out.push_operation(StreamOp::Abort(reset));
            self.out.report_drop(from, Reason::TooMany);
        }
    }

    /// Resets an exchange. The bytes of the exchange have no effect.
    pub(super) fn reset_exchange(&mut self, id: StreamId, reason: Reason) {
        if let Some(exchange) = self.inbound.remove(id) {
            self.out.push_operation(StreamOp::Abort(id));
            self.out.report_drop(exchange.from(), reason);
        }
    }

    pub(super) fn on_exchange_closed(&mut self, id: StreamId) {
        if let Some(exchange) = self.inbound.remove(id) {
            self.out.report_drop(exchange.from(), Reason::Reset);
        }
    }

    /// Handles the bytes that a giver has sent, or the end of its stream. Returns how many bytes are consumed.
    pub(super) fn on_exchange_bytes(&mut self, id: StreamId, bytes: &[u8], end: bool) -> usize {
        let mut used = 0;
        while let Some(exchange) = self.inbound.get_mut(id) {
            // The clock decides even if the token is complete. The giver may have given up, and may pass the token to
            // another node.
            if exchange.is_late(self.now, self.options.token_pass_timeout) {
                self.reset_exchange(id, Reason::Late);
                break;
            }
            // The bytes stay unread, so that TP1 is judged again after the pass.
            if exchange.is_held() {
                return 0;
            }
            let rest = bytes.get(used..).unwrap_or_default();
            match exchange.receive(rest, end, &self.options) {
                ReadProgress::Wait(count) => return used + count,
                ReadProgress::OfferedToken(before, offer) if self.prepare_answer(id, offer) => {
                    self.answer_offer(id, offer);
                    used += before + offer.len;
                }
                ReadProgress::OfferedToken(before, _) => return used + before,
                ReadProgress::Complete => {
                    self.take_token(id);
                    break;
                }
                ReadProgress::Dropped(reason) => {
                    // The reset removes the exchange with its terms, so the report comes first.
                    self.report_foreign_giver(id);
                    self.reset_exchange(id, reason);
                    break;
                }
            }
        }
        bytes.len()
    }

    /// Decides whether an offer is answered now. A node that is passing its own token aborts its pass for a stronger
    /// token, or answers the offer later. A node never gives and takes tokens at the same time.
    fn prepare_answer(&mut self, id: StreamId, offer: TokenOffer) -> bool {
        let Some(pass) = self.role.pass() else {
            return true;
        };
        let Some((exchange, net)) = self.inbound.get_mut(id).zip(self.net) else {
            return false;
        };
        let theirs = (offer.id.random(), exchange.from());
        // Both nodes compare the same pairs, so if two nodes pass to each other, exactly one of them gives way.
        if theirs > (self.token_id.random(), net.address) && !pass.has_sent_token() {
            self.end_pass(PassEnd::Aborted);
            return true;
        }
        exchange.hold();
        false
    }

    fn answer_offer(&mut self, id: StreamId, offer: TokenOffer) {
        let hash = self.list.hash();
        if let Some(exchange) = self.inbound.get_mut(id) {
            exchange.answer(offer, hash);
            self.out.push_operation(StreamOp::Write(id));
        }
    }

    /// If the giver of an exchange belongs to another ring, reports this giver.
    fn report_foreign_giver(&mut self, id: StreamId) {
        if let Some(exchange) = self.inbound.get_mut(id)
            && let Some(terms) = exchange.terms()
        {
            let from = exchange.from();
            self.note_if_foreign(from, Some(&terms));
        }
    }

    /// Handles a token that is complete and in time.
    fn take_token(&mut self, id: StreamId) {
        let exchange = self.inbound.remove(id);
        let from = exchange.as_ref().map(Exchange::from);
        let token = exchange.and_then(Exchange::into_token);
        let Some((from, token)) = from.zip(token) else {
            return;
        };
        // The present state decides, not the state when TP1 arrived, because a restore may have ended since.
        let incoming = Rank::of(token.id, token.terms);
        let how = match self.role {
            Role::Leader(_) => Acceptance::Merged,
            _ if self.knows_stronger(from, incoming) => Acceptance::Absorbed,
            _ => Acceptance::Taken,
        };
        self.note_heard(from, token.terms);
        self.out.push_event(Event::Accepted {
            how,
            token_id: token.id.random(),
            from,
        });
        self.penalties.note_token(from);
        self.combine_lists(from, how, &token);
        // The giver still has this data, so a drop loses no data.
        if !self.data.queue_received(token.data) {
            self.out.counters.decide_failures += 1;
            self.out.push_event(Event::DataDropped);
        }
        // The acknowledgement does not wait for the decision, because the time of the giver is short.
        self.out.push_operation(StreamOp::Close(id));
        let lease = token
            .terms
            .map(|terms| Duration::from_micros(terms.shortest_us.into()));
        match how {
            Acceptance::Taken => {
                self.out.counters.taken += 1;
                self.follow_state.on_token_received(self.now, lease);
                self.set_token_id(token.id);
                self.become_leader();
            }
            Acceptance::Merged => {
                self.out.counters.merged += 1;
                self.follow_state.on_token_received(self.now, lease);
                // With the smaller id, members of the other ring would absorb this token as an old token.
                if token.id.compare(self.token_id).is_gt() {
                    self.set_token_id(token.id);
                    self.report_state();
                }
            }
            Acceptance::Absorbed => self.out.counters.absorbed += 1,
        }
    }

    /// Returns the entries of a received list that this node accepts. The node accepts only a limited number of unknown
    /// nodes, and no node that cannot be on the link.
    fn accept_entries(&mut self, from: IpAddr, list: &[Node]) -> Vec<Node> {
        let mut new = 0;
        let believed = list.iter().filter(|node| {
            if self.list.contains(node.ip) || self.is_own(node.ip) || node.ip == from {
                return true;
            }
            // A node off the link cannot join, and its entry would cost time in each turn.
            let is_on_link = self.net.is_some_and(|net| net.is_on_link(node.ip));
            new += usize::from(is_on_link);
            is_on_link && new <= NEW_NODES_PER_LIST_MAX
        });
        let believed: Vec<Node> = believed.copied().collect();
        let left_out = list.len() - believed.len();
        if left_out > 0 {
            self.out.push_event(Event::ListCut { from, left_out });
        }
        believed
    }

    fn combine_lists(&mut self, from: IpAddr, how: Acceptance, token: &ReceivedToken) {
        let list = token
            .list
            .as_deref()
            .map(|list| self.accept_entries(from, list));
        let changes = match (how, &list, self.own()) {
            (Acceptance::Taken, Some(received), Some(own)) => {
                let (peers, penalties) = (&self.peers, &self.penalties);
                // If silent entries were put back, nodes would give a dead entry to each other again and again.
                let is_silent = |node: &Node| {
                    !peers.has_heard(node.ip) && penalties.get(node.ip).0 >= UNANSWERED_ASKS_MAX
                };
                self.list.take_over(received, own, is_silent)
            }
            (Acceptance::Taken, None, Some(own)) => self.list.put_own(own),
            (Acceptance::Merged, Some(received), _) => self.list.merge(received),
            (Acceptance::Absorbed, Some(received), _) => Changes {
                refused: self.list.absorb(received),
                ..Changes::default()
            },
            // The giver's list equals this node's list, which already has all its entries.
            _ => return,
        };
        self.report_refused(&changes.refused);
        self.report_added(&changes.added);
        for node in changes.forgotten {
            self.out.push_event(Event::NodeForgotten { node });
        }
    }
}
