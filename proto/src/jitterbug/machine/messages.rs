//! TR1 and TR2 that the node sends (`docs/jitterbug/protocol/restore.md` R3 to R5, `messages.md` M5 to M13 and
//! `announcements.md` N1 to N3 there).

use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Terms, TokenId};

use super::Jitterbug;
use crate::jitterbug::role::{RestoreAction, Role};
use crate::jitterbug::{Options, State, tokens};
use crate::time::Instant;

/// The ticket of datagrams whose outcome the node ignores.
const NO_TICKET: u64 = 0;

impl Jitterbug {
    pub(super) fn on_restore_due(&mut self) {
        let Options {
            tr_count,
            tr_interval,
            ..
        } = self.options;
        // The end of the first try and the first TR1 of the second try are due at the same time.
        while let Some(restore) = self.role.restore_mut() {
            let number = restore.number();
            match restore.take_step(self.now, tr_count, tr_interval) {
                RestoreAction::Wait => break,
                RestoreAction::SendTr1 => self.broadcast_tr1(number),
                RestoreAction::StartSecondTry => {
                    let id = tokens::next(self.token_id, &mut self.draw);
                    self.set_token_id(id);
                }
            }
        }
    }

    fn broadcast_tr1(&mut self, ticket: u64) {
        if let Some(net) = self.net {
            self.last_broadcast = Some(self.now);
            self.send_tr1(net.everybody(), ticket, false);
        }
    }

    /// Sends TR1 to a node, and asks it for a TR1.
    pub(super) fn ask_for_tr1(&mut self, node: IpAddr) {
        self.send_tr1(node, NO_TICKET, true);
    }

    pub(super) fn answer_with_tr1(&mut self, to: IpAddr) {
        self.send_tr1(to, NO_TICKET, false);
    }

    /// Sends TR1. If `asks` is set, the TR1 asks the receiver for a TR1 in return.
    fn send_tr1(&mut self, to: IpAddr, ticket: u64, asks: bool) {
        let is_leader = self.role.state() == State::Leader;
        // A leader that shuts down has ended when its pass is acknowledged, so it asks no question. After other passes,
        // a question may follow.
        if let Some(net) = self.net.filter(|_| !self.is_finished) {
            let message = Message::Tr1 {
                token_id: self.token_id.with_leader(is_leader),
                node_tcp_port: net.tcp_port,
                terms: Some(self.terms(asks)),
            };
            let to = net.reach(to, self.options.udp_port);
            self.out.send(to, &message, ticket);
        }
    }

    /// Sends TR2. The TR2 has terms only if the TR1 had terms. If a receiver sent no terms, it perhaps does not
    /// understand terms, and the answer would be longer than the question.
    pub(super) fn send_tr2(&mut self, to: IpAddr, with_terms: bool) {
        let is_leader = self.role.state() == State::Leader;
        if let Some(net) = self.net {
            let token_id = self.token_id.with_leader(is_leader);
            let to = net.reach(to, self.options.udp_port);
            let terms = with_terms.then(|| self.terms(false));
            self.out
                .send(to, &Message::Tr2 { token_id, terms }, NO_TICKET);
        }
    }

    /// Sends the TR1 that a waiter owes to the sender of an announcement. If the leader does not know this node's short
    /// lease, this node sends a TR1 even if it owes no TR1.
    pub(super) fn send_owed_tr1(&mut self, to: IpAddr, id: TokenId, terms: Option<Terms>) {
        // The lease of the ring must not be longer than this node's time to elect itself.
        let is_unaware = terms.is_some_and(|terms| self.is_shorter(&terms));
        let Role::Waiter(waiter) = &mut self.role else {
            return;
        };
        if waiter.take_debt() {
            self.follow_state.follow(id);
            self.send_tr1(to, NO_TICKET, false);
        } else if is_unaware {
            self.send_tr1(to, NO_TICKET, false);
        }
    }

    pub(super) fn announce(&mut self) {
        self.out.counters.announcements += 1;
        self.announcements.note_sent(self.now);
        self.announcements.note_introduced(self.now);
        self.broadcast_tr1(NO_TICKET);
    }

    /// Returns the time at which the next announcement is due.
    pub(super) fn announcement_due(&self) -> Option<Instant> {
        let is_due = self.role.turn().is_some_and(|turn| turn.pass().is_none());
        let period = self.options.renew_timeout / 2;
        is_due.then(|| {
            let announced = self.announcements.last();
            // If options differ, each leader announces its own options. Otherwise some nodes would never hear of these
            // options.
            let introduced = self.announcements.last_own();
            let last = if self.has_other_options() {
                announced.min(introduced)
            } else {
                announced
            };
            last.map_or(self.now, |last| last + period)
        })
    }
}
