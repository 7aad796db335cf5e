//! The giver's side of a pass, in the machine (`docs/jitterbug.md`, section 6).

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::role::{End, Offered, Pass, Round};
use crate::jitterbug::tokens::Rank;
use crate::jitterbug::{Event, Failure};
use crate::{Closed, StreamId, StreamOp};

impl Jitterbug {
    /// Begins a pass to a candidate.
    pub(super) fn begin_pass(&mut self, to: Node, is_rival: bool) {
        let deadline = self.now + self.options.token_pass_timeout;
        // A node of before the terms would not understand them.
        let terms = self.peers.terms(to.ip).map(|_| self.terms(false));
        let offer = Offered {
            id: self.token_id,
            terms,
        };
        let pass = Pass::new(to, is_rival, deadline, offer, self.data.bytes());
        if let Some(round) = self.role.round_mut() {
            round.begin(pass);
        }
    }

    pub(super) fn on_connected(&mut self, id: StreamId) {
        self.on_pass_due();
        if let Some(pass) = self.role.pass_mut() {
            pass.connected(self.list.hash());
            self.out.operate(StreamOp::Write(id));
        }
    }

    /// The candidate has sent something, or its end.
    pub(super) fn on_answer(&mut self, id: StreamId, bytes: &[u8], end: bool) {
        let Some(pass) = self.role.pass_mut() else {
            return;
        };
        let is_late = pass.is_over(self.now);
        match pass.received(bytes, end, || self.list.encoded()) {
            // An acknowledgement says that the candidate has the token, however late that is heard of.
            Some(End::Done) => self.end_pass(End::Done),
            _ if is_late => self.on_pass_due(),
            Some(ended) => self.end_pass(ended),
            None => self.out.operate(StreamOp::Write(id)),
        }
    }

    pub(super) fn on_pass_closed(&mut self, why: Closed) {
        if let Some(end) = self.role.pass().map(|pass| pass.closed(why)) {
            self.end_pass(end);
        }
    }

    /// Ends the pass if its time is over.
    pub(super) fn on_pass_due(&mut self) {
        if self.role.pass().is_some_and(|pass| pass.is_over(self.now)) {
            self.give_up_pass();
        }
    }

    /// Ends the pass, if there is one, as when its time is over.
    pub(super) fn give_up_pass(&mut self) {
        if let Some(end) = self.role.pass().map(|pass| pass.broken(Failure::TimedOut)) {
            self.end_pass(end);
        }
    }

    /// Ends the pass since its connection cannot last.
    pub(super) fn break_pass(&mut self) {
        let end = self
            .role
            .pass()
            .map(|pass| pass.broken(Failure::NetworkChanged));
        match end {
            Some(End::Failed(_)) => self.end_pass(End::Aborted),
            Some(end) => self.end_pass(end),
            None => {}
        }
    }

    /// The pass that goes on ends so.
    pub(super) fn end_pass(&mut self, end: End) {
        let Some(pass) = self.role.take_pass() else {
            return;
        };
        let to = pass.to();
        if let Some(stream) = pass.stream() {
            self.out.operate(match end {
                End::Done => StreamOp::Close(stream),
                _ => StreamOp::Abort(stream),
            });
        }
        if pass.is_rival() {
            self.rival.forget();
        }
        for held in self.inbound.release() {
            self.out.operate(StreamOp::Read(held));
        }
        let is_known = self.list.knows(to.ip);
        let counters = &mut self.out.counters;
        match end {
            End::Done => {
                counters.passes_done += 1;
                self.penalties.done(to.ip);
                let Offered { id, terms } = *pass.offered();
                self.gave.note(Rank::of(id, terms), self.now);
                self.company.follow(id);
                self.hear_of(to.ip, None);
                self.out.event(Event::Passed { to });
                self.become_waiter(false);
                self.ask_for_terms(to.ip);
            }
            End::Failed(why) => {
                counters.passes_failed += 1;
                if is_known {
                    self.penalties.failed(to.ip);
                }
                if matches!(why, Failure::TimedOut | Failure::Unreachable) {
                    self.peers.unreachable(to.ip);
                    if let Some(round) = self.role.round_mut() {
                        round.cost_time();
                    }
                }
                self.out.event(Event::PassFailed { to, why });
            }
            End::Unknown(why) => {
                counters.passes_unknown += 1;
                if is_known {
                    self.penalties.failed(to.ip);
                }
                self.out.event(Event::PassUnknown { to, why });
                self.become_orphan();
            }
            End::Aborted => {
                counters.passes_aborted += 1;
                self.out.event(Event::PassAborted { to });
                if let Some(round) = self.role.round_mut() {
                    *round = Round::default();
                }
            }
        }
    }
}
