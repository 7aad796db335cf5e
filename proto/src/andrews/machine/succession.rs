//! Following the own row, and losing the node that it names (`docs/board.md`, sections 3, 4 and 6).

use super::Andrews;
use crate::andrews::message::Said;
use crate::andrews::ring::{Follow, Membership, OwnRow, Verdict};
use crate::andrews::{Event, Loss};
use crate::time::Instant;
use crate::{Closed, StreamId, StreamOp};

impl Andrews {
    /// Connects to the successor of the own row, if that is not done.
    pub(super) fn follow_row(&mut self) {
        let own = self.options.id;
        let Some(view) = &self.view else {
            return;
        };
        let (Some(successor), Some(member)) = (view.successor(own), self.role.member_mut()) else {
            return;
        };
        let row = OwnRow {
            own,
            successor,
            read_at: view.read_at(),
        };
        let (is_passing, ack_timeout) = (self.token.is_passing(), self.options.ack_timeout);
        match member.follow(row, is_passing, self.now, ack_timeout) {
            Follow::Stay => {}
            Follow::Connect(lost_at, verdict) => self.connect(successor, lost_at, verdict),
            Follow::Failed => {
                self.out.event(Event::SuccessorFailed { id: successor });
                self.step_plea();
            }
        }
    }

    fn connect(&mut self, to: u32, lost_at: Option<Instant>, verdict: Verdict) {
        self.close_successor();
        let until = self.now + self.options.connect_timeout;
        if let Some(member) = self.role.member_mut() {
            member.connect(to, until, lost_at, verdict);
        }
        // A node that is not in the list cannot be reached.
        if self.list.address(to).is_none() {
            self.lose_successor(Loss::NotConnected);
        }
    }

    pub(super) fn on_successor_connected(&mut self, id: StreamId) {
        let Some(member) = self.role.member_mut() else {
            return;
        };
        let to = member.connecting_to(id);
        let Some((to, address)) = to.and_then(|to| Some((to, self.list.address(to)?))) else {
            return;
        };
        member.on_connected(to, id, address.ip());
        self.out.event(Event::SuccessorUp { id: to });
        self.heard_from(to);
        self.send_on(&Said::Successor(to));
        self.elections.successor_changed();
        self.send_waiting();
    }

    /// The kernel says that the connection to the successor is gone, or cannot be.
    pub(super) fn on_successor_closed(&mut self, why: Closed) {
        let member = self.role.member();
        let Some((loss, verdict)) = member.and_then(|member| member.judgement(why)) else {
            return;
        };
        let to = member.and_then(Membership::to);
        self.lose_and_judge(loss, verdict);
        if let Some(to) = to.filter(|_| why == Closed::Refused) {
            // It counts as later than the loss: a host that refuses is there.
            self.heard_from(to);
        }
    }

    pub(super) fn lose_and_judge(&mut self, why: Loss, verdict: Verdict) {
        self.lose_successor(why);
        if let Some(member) = self.role.member_mut() {
            member.judge(verdict);
        }
    }

    /// The successor is lost: it is closed, a token that was on the way is here again, and a look says what follows.
    pub(super) fn lose_successor(&mut self, why: Loss) {
        let now = self.now;
        let member = self.role.member_mut();
        let Some((to, stream)) = member.and_then(|member| member.lose(why, now)) else {
            return;
        };
        if let Some(stream) = stream {
            self.out.operate(StreamOp::Close(stream));
        }
        self.database.want_look();
        self.out.event(Event::SuccessorLost { id: to, why });
        if self.token.is_passing() {
            self.out.counters.passes_failed += 1;
            match self.token.take_back(now) {
                Some(sequence) => self.out.event(Event::TokenReturned { sequence }),
                None => self.lose_token(),
            }
        }
    }

    pub(super) fn on_link_due(&mut self) {
        let (now, liveness) = (self.now, self.options.liveness);
        let member = self.role.member();
        if let Some(why) = member.and_then(|member| member.late(now, liveness)) {
            self.lose_successor(why);
        }
    }

    /// When the way to the successor has something due.
    pub(super) fn link_due(&self) -> Option<Instant> {
        self.role.member()?.due(self.options.liveness)
    }
}
