//! What a node says without being asked, and what it answers (`docs/jitterbug.md`, sections 3, 4 and 8).

use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Terms, TokenId};

use super::Jitterbug;
use crate::jitterbug::role::{Due, Role};
use crate::jitterbug::{Options, State, tokens};
use crate::time::Instant;

/// The ticket of datagrams whose outcome does not matter.
const ANY: u64 = 0;

impl Jitterbug {
    pub(super) fn on_restore_due(&mut self) {
        let Options {
            tr_count,
            tr_interval,
            ..
        } = self.options;
        while let Some(restore) = self.role.restore_mut() {
            let number = restore.number();
            match restore.go_on(self.now, tr_count, tr_interval) {
                Due::Nothing => break,
                Due::Ask => self.say_to_all(number),
                Due::Second => {
                    let id = tokens::next(self.token_id, &mut self.draw);
                    self.set_token_id(id);
                }
            }
        }
    }

    /// Broadcasts TR1.
    fn say_to_all(&mut self, ticket: u64) {
        if let Some(net) = self.net {
            self.spoke = Some(self.now);
            self.say(net.everybody(), ticket, false);
        }
    }

    /// Sends TR1 that asks for one to a node.
    pub(super) fn ask(&mut self, node: IpAddr) {
        self.say(node, ANY, true);
    }

    /// Answers a node that asks for a TR1.
    pub(super) fn say_back(&mut self, to: IpAddr) {
        self.say(to, ANY, false);
    }

    /// Sends TR1, which perhaps asks for one.
    fn say(&mut self, to: IpAddr, ticket: u64, asks: bool) {
        let is_leader = self.role.state() == State::Leader;
        if let Some(net) = self.net {
            let message = Message::Tr1 {
                token_id: self.token_id.said_by(is_leader),
                node_tcp_port: net.tcp_port,
                terms: Some(self.terms(asks)),
            };
            let to = net.reach(to, self.options.udp_port);
            self.out.send(to, &message, ticket);
        }
    }

    /// Sends TR2. The answer is as long as the question: it has terms if that had.
    pub(super) fn answer(&mut self, to: IpAddr, with_terms: bool) {
        let is_leader = self.role.state() == State::Leader;
        if let Some(net) = self.net {
            let token_id = self.token_id.said_by(is_leader);
            let to = net.reach(to, self.options.udp_port);
            let terms = with_terms.then(|| self.terms(false));
            self.out.send(to, &Message::Tr2 { token_id, terms }, ANY);
        }
    }

    /// Pays the TR1 that a waiter owes, to the sender of an announcement. It owes one as well to a leader that does not
    /// know how short its lease is.
    pub(super) fn pay_debt(&mut self, to: IpAddr, id: TokenId, terms: Option<Terms>) {
        let is_unaware = terms.is_some_and(|terms| self.is_shorter(&terms));
        let Role::Waiter(waiter) = &mut self.role else {
            return;
        };
        if waiter.pay() {
            self.company.follow(id);
            self.say(to, ANY, false);
        } else if is_unaware {
            self.say(to, ANY, false);
        }
    }

    /// Says that there is a leader, to whoever does not know.
    pub(super) fn announce(&mut self) {
        self.out.counters.announcements += 1;
        self.announcements.sent(self.now);
        self.announcements.introduced(self.now);
        self.say_to_all(ANY);
    }

    /// When the next announcement is due.
    pub(super) fn announce_at(&self) -> Option<Instant> {
        let is_due = self.role.turn().is_some_and(|turn| turn.pass().is_none());
        let period = self.options.renew_timeout / 2;
        is_due.then(|| {
            let said = self.announcements.last();
            // Who has other options than others says so itself, or some never hear of it.
            let introduced = self.announcements.last_own();
            let last = if self.has_other_options() {
                said.min(introduced)
            } else {
                said
            };
            last.map_or(self.now, |last| last + period)
        })
    }
}
