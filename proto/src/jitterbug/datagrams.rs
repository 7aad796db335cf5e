//! What each datagram does (`docs/jitterbug.md`, section 4).

use std::cmp::Ordering;
use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Node, TokenId};

use super::role::Role;
use super::{Event, Jitterbug, Reason};

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
            }) => self.on_tr1(from, token_id, node_tcp_port),
            Ok(Message::Tr2 { token_id }) => {
                self.out.counters.tr2_received += 1;
                self.on_tr2(from, token_id);
            }
            // A stream's message is refused by the codec.
            Ok(_) => self.out.drop(from, Reason::Transport),
            Err(error) => self.out.drop(from, Reason::of(&error)),
        }
    }

    fn on_tr1(&mut self, from: IpAddr, id: TokenId, port: u16) {
        self.out.counters.tr1_received += 1;
        let node = Node { ip: from, port };
        self.learn(node);
        let period = self.options.renew_timeout;
        self.penalties.heard(from, self.now, period);
        if id.is_leader() {
            self.on_announcement(node, id);
        } else {
            self.on_question(from, id);
        }
    }

    /// TR1 from a leader.
    fn on_announcement(&mut self, leader: Node, id: TokenId) {
        if matches!(self.role, Role::Leader(_)) {
            self.answer(leader.ip);
        }
        if matches!(self.role, Role::Orphan(Some(_))) {
            self.deny(leader.ip, true);
        }
        self.pay_debt(leader.ip);
        self.announcements.heard(id, self.token_id, self.now);
        let period = self.options.renew_timeout;
        let before = self.stronger();
        self.rival.note(id, leader, self.now, period);
        if before.is_none() && self.stronger().is_some() {
            self.out.event(Event::RivalHeard {
                token_id: id.random(),
                from: leader.ip,
            });
        }
    }

    /// TR1 from a node that does not lead.
    fn on_question(&mut self, from: IpAddr, id: TokenId) {
        let own = self.token_id;
        match &self.role {
            Role::Leader(_) => self.answer(from),
            Role::Waiter(_) if own.compare(id).is_gt() => self.answer(from),
            Role::Waiter(_) | Role::Orphan(None) => {}
            Role::Orphan(Some(restore)) => {
                let is_denied = restore.is_denied_by(id, own);
                // With equal ids both may go on in the first try, since the second has new ones. In the second neither
                // may: each tells the other.
                if own.compare(id) == Ordering::Greater || is_denied && own.compare(id).is_eq() {
                    self.answer(from);
                }
                if is_denied {
                    self.deny(from, true);
                }
            }
        }
    }

    fn on_tr2(&mut self, from: IpAddr, id: TokenId) {
        if let Role::Orphan(Some(restore)) = &self.role
            && restore.is_denied_by(id, self.token_id)
        {
            // A leader that has answered has heard this node's TR1, and knows it.
            self.deny(from, !id.is_leader());
        }
    }

    /// Ends the restore. A node that is denied by who does not lead may be unknown to whoever wins, and owes it a TR1.
    fn deny(&mut self, by: IpAddr, owes: bool) {
        self.out.event(Event::RestoreDenied { by });
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
