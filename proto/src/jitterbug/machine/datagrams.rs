//! Datagrams and their effects (`docs/jitterbug/protocol/messages.md` M1 to M15).

use std::cmp::Ordering;
use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Node, Terms, TokenId};

use super::Jitterbug;
use crate::jitterbug::role::Role;
use crate::jitterbug::{Event, Reason};

impl Jitterbug {
    pub(super) fn on_datagram(&mut self, from: IpAddr, bytes: &[u8]) {
        // A broadcast also reaches its sender.
        let Some(net) = self.net.filter(|net| net.address != from) else {
            return;
        };
        if !net.is_on_link(from) {
            return self.out.report_drop(from, Reason::OffLink);
        }
        match Message::decode_datagram(bytes) {
            Ok(Message::Tr1 {
                node_tcp_port: 0, ..
            }) => self.out.report_drop(from, Reason::Port),
            Ok(Message::Tr1 {
                token_id,
                node_tcp_port,
                terms,
            }) => self.on_tr1(from, token_id, node_tcp_port, terms),
            Ok(Message::Tr2 { token_id, terms }) => {
                self.out.counters.tr2_received += 1;
                self.on_tr2(from, token_id, terms);
            }
            // The codec has already refused messages of a stream.
            Ok(_) => self.out.report_drop(from, Reason::Transport),
            Err(error) => self.out.report_drop(from, Reason::of(&error)),
        }
    }

    fn on_tr1(&mut self, from: IpAddr, id: TokenId, port: u16, terms: Option<Terms>) {
        self.out.counters.tr1_received += 1;
        let node = Node { ip: from, port };
        // This check comes before all effects, because a node of another ring must not get into the lists.
        if self.note_if_foreign(from, terms.as_ref()) {
            return self.on_foreign(node, id, terms);
        }
        self.note_node(node);
        // A node that did not fit the lists must not use memory elsewhere.
        if self.list.contains(from) {
            self.note_heard(from, terms);
        }
        let period = self.options.renew_timeout;
        self.penalties.note_tr1(from, self.now, period);
        if id.is_leader() {
            self.on_announcement(node, id, terms);
        } else {
            self.peers.note_question(from, self.now);
            self.on_question(from, id, terms);
        }
    }

    /// Handles a TR1 from a node of another ring.
    fn on_foreign(&mut self, node: Node, id: TokenId, terms: Option<Terms>) {
        if id.is_leader() {
            self.note_foreign_leader(node, id, terms);
        }
        if matches!(self.role, Role::Leader(_)) {
            // Without an answer that node would elect itself next to this leader.
            self.send_tr2(node.ip, true);
        }
    }

    /// Handles TR1 of a leader.
    fn on_announcement(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let asks = terms.is_some_and(|terms| terms.asks);
        // A datagram gets at most one answer, and here that is the TR1 below.
        if matches!(self.role, Role::Leader(_)) && !asks {
            self.send_tr2(leader.ip, terms.is_some());
        }
        // A denied restore makes this node a waiter, which owes a TR1 and sends it below.
        if matches!(self.role, Role::Orphan(Some(_))) {
            self.deny_restore(leader.ip, id, true);
        }
        if asks {
            self.answer_with_tr1(leader.ip);
        } else {
            self.send_owed_tr1(leader.ip, id, terms);
        }
        self.announcements.note_heard(id, self.token_id, self.now);
        self.note_rival(leader, id, terms);
    }

    /// Handles TR1 of a node that does not lead.
    fn on_question(&mut self, from: IpAddr, id: TokenId, terms: Option<Terms>) {
        let own = self.token_id;
        let answers_with = terms.is_some();
        match &self.role {
            Role::Leader(_) => {
                // A waiter that asks regularly keeps the token of this leader strong.
                if terms.is_some_and(|terms| terms.follows == own.random()) {
                    self.follow_state.note_follower(self.now);
                }
                self.send_tr2(from, answers_with);
            }
            // If this node's id is larger, the node that asks has missed a newer token.
            Role::Waiter(_) if own.compare(id).is_gt() || self.may_restore_too_early(terms) => {
                self.send_tr2(from, answers_with);
            }
            Role::Waiter(_) | Role::Orphan(None) => {}
            Role::Orphan(Some(restore)) => {
                let is_denied = restore.is_denied_by(id, own);
                // With equal ids, both nodes may continue in the first try, because each node takes a new id for the
                // second try. In the second try, neither node may continue, so each node denies the other.
                if own.compare(id) == Ordering::Greater || is_denied && own.compare(id).is_eq() {
                    self.send_tr2(from, answers_with);
                }
                if is_denied {
                    self.deny_restore(from, id, true);
                }
            }
        }
    }

    /// Whether the sender of a TR1 might end its restore too early, because it does not know the longest lease of the
    /// ring.
    fn may_restore_too_early(&self, terms: Option<Terms>) -> bool {
        terms.is_some_and(|terms| {
            let own = self.terms(false);
            terms.longest_us < own.longest_us
        })
    }

    fn on_tr2(&mut self, from: IpAddr, id: TokenId, terms: Option<Terms>) {
        if self.note_if_foreign(from, terms.as_ref()) {
            if id.is_leader() {
                // TR2 has no port. The port is not needed, because no token goes to another ring.
                let node = Node { ip: from, port: 0 };
                self.note_foreign_leader(node, id, terms);
            }
            return;
        }
        if self.list.contains(from) || terms.is_some() {
            self.note_heard(from, terms);
        }
        if let Role::Orphan(Some(restore)) = &self.role
            && restore.is_denied_by(id, self.token_id)
        {
            // TR2 has no port, so only a node of the list can become a rival.
            let place = self.list.place(from).filter(|_| id.is_leader());
            if let Some(leader) = place.and_then(|place| self.list.get(place)) {
                self.note_rival(leader, id, terms);
            }
            // A leader that has answered has received this node's TR1, so it knows this node.
            self.deny_restore(from, id, !id.is_leader());
        }
    }

    /// Ends the restore. If a node that does not lead has objected, the new leader perhaps does not know this node. So
    /// this node owes the new leader a TR1.
    fn deny_restore(&mut self, by: IpAddr, id: TokenId, owes: bool) {
        self.out.push_event(Event::RestoreDenied { by });
        if id.is_leader() {
            self.follow_state.follow(id);
        }
        self.become_waiter(owes);
    }

    /// Notes a node. In its next turn as a leader, this node adds the noted node to the list.
    pub(super) fn note_node(&mut self, node: Node) {
        if !self.list.learn(node) {
            self.report_refused(&[node]);
        }
    }

    pub(super) fn report_refused(&mut self, nodes: &[Node]) {
        for &node in nodes {
            self.out.counters.nodes_refused += 1;
            self.out.push_event(Event::NodeRefused { node });
        }
    }
}
