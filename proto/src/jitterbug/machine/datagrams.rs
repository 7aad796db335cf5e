//! What each datagram does (`docs/jitterbug.md`, section 4).

use std::cmp::Ordering;
use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Node, Terms, TokenId};

use super::Jitterbug;
use crate::jitterbug::role::Role;
use crate::jitterbug::{Event, Reason};

impl Jitterbug {
    /// A datagram came from an address.
    pub(super) fn on_datagram(&mut self, from: IpAddr, bytes: &[u8]) {
        let Some(net) = self.net.filter(|net| net.address != from) else {
            return;
        };
        if !net.is_on_link(from) {
            return self.out.drop(from, Reason::OffLink);
        }
        match Message::decode_datagram(bytes) {
            Ok(Message::Tr1 {
                node_tcp_port: 0, ..
            }) => self.out.drop(from, Reason::Port),
            Ok(Message::Tr1 {
                token_id,
                node_tcp_port,
                terms,
            }) => self.on_tr1(from, token_id, node_tcp_port, terms),
            Ok(Message::Tr2 { token_id, terms }) => {
                self.out.counters.tr2_received += 1;
                self.on_tr2(from, token_id, terms);
            }
            // A stream's message is refused by the codec.
            Ok(_) => self.out.drop(from, Reason::Transport),
            Err(error) => self.out.drop(from, Reason::of(&error)),
        }
    }

    fn on_tr1(&mut self, from: IpAddr, id: TokenId, port: u16, terms: Option<Terms>) {
        self.out.counters.tr1_received += 1;
        let node = Node { ip: from, port };
        if self.is_foreign(from, terms.as_ref()) {
            return self.on_foreign(node, id, terms);
        }
        self.learn(node);
        if self.list.knows(from) {
            self.hear_of(from, terms);
        }
        let period = self.options.renew_timeout;
        self.penalties.heard(from, self.now, period);
        if id.is_leader() {
            self.on_announcement(node, id, terms);
        } else {
            self.peers.asked(from, self.now);
            self.on_question(from, id, terms);
        }
    }

    /// TR1 from a node of another ring: it is told of the leader here, and nothing else comes of it.
    fn on_foreign(&mut self, node: Node, id: TokenId, terms: Option<Terms>) {
        if id.is_leader() {
            self.note_foreign_leader(node, id, terms);
        }
        if matches!(self.role, Role::Leader(_)) {
            self.answer(node.ip, true);
        }
    }

    /// TR1 from a leader.
    fn on_announcement(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let asks = terms.is_some_and(|terms| terms.asks);
        if matches!(self.role, Role::Leader(_)) && !asks {
            self.answer(leader.ip, terms.is_some());
        }
        if matches!(self.role, Role::Orphan(Some(_))) {
            self.deny(leader.ip, id, true);
        }
        if asks {
            self.say_back(leader.ip);
        } else {
            self.pay_debt(leader.ip, id, terms);
        }
        self.announcements.heard(id, self.token_id, self.now);
        self.note_rival(leader, id, terms);
    }

    /// TR1 from a node that does not lead.
    fn on_question(&mut self, from: IpAddr, id: TokenId, terms: Option<Terms>) {
        let own = self.token_id;
        let answers_with = terms.is_some();
        match &self.role {
            Role::Leader(_) => {
                if terms.is_some_and(|terms| terms.follows == own.random()) {
                    self.company.seen(self.now);
                }
                self.answer(from, answers_with);
            }
            Role::Waiter(_) if own.compare(id).is_gt() || self.is_too_hasty(terms) => {
                self.answer(from, answers_with);
            }
            Role::Waiter(_) | Role::Orphan(None) => {}
            Role::Orphan(Some(restore)) => {
                let is_denied = restore.is_denied_by(id, own);
                // With equal ids both may go on in the first try, since the second has new ones. In the second neither
                // may: each tells the other.
                if own.compare(id) == Ordering::Greater || is_denied && own.compare(id).is_eq() {
                    self.answer(from, answers_with);
                }
                if is_denied {
                    self.deny(from, id, true);
                }
            }
        }
    }

    /// Whether a node that asks may not know of the longest lease of the ring.
    fn is_too_hasty(&self, terms: Option<Terms>) -> bool {
        terms.is_some_and(|terms| {
            let own = self.terms(false);
            terms.longest_us < own.longest_us
        })
    }

    fn on_tr2(&mut self, from: IpAddr, id: TokenId, terms: Option<Terms>) {
        if self.is_foreign(from, terms.as_ref()) {
            if id.is_leader() {
                let node = Node { ip: from, port: 0 };
                self.note_foreign_leader(node, id, terms);
            }
            return;
        }
        if self.list.knows(from) || terms.is_some() {
            self.hear_of(from, terms);
        }
        if let Role::Orphan(Some(restore)) = &self.role
            && restore.is_denied_by(id, self.token_id)
        {
            let place = self.list.place(from).filter(|_| id.is_leader());
            if let Some(leader) = place.and_then(|place| self.list.get(place)) {
                self.note_rival(leader, id, terms);
            }
            // A leader that has answered has heard this node's TR1, and knows it.
            self.deny(from, id, !id.is_leader());
        }
    }

    /// Ends the restore. A node that is denied by who does not lead may be unknown to whoever wins, and owes it a TR1.
    fn deny(&mut self, by: IpAddr, id: TokenId, owes: bool) {
        self.out.event(Event::RestoreDenied { by });
        if id.is_leader() {
            self.company.follow(id);
        }
        self.become_waiter(owes);
    }

    /// Remembers a node, to be added to the list in a turn.
    pub(super) fn learn(&mut self, node: Node) {
        if !self.list.learn(node) {
            self.refuse(&[node]);
        }
    }

    pub(super) fn refuse(&mut self, nodes: &[Node]) {
        for &node in nodes {
            self.out.counters.nodes_refused += 1;
            self.out.event(Event::NodeRefused { node });
        }
    }
}
