//! The giver's side of a pass (`docs/jitterbug.md`, section 6).

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::role::{CandidateRound, OfferedToken, Pass, PassEnd};
use crate::jitterbug::tokens::Rank;
use crate::jitterbug::{Event, PassFailure};
use crate::{CloseReason, StreamId, StreamOp};

impl Jitterbug {
    pub(super) fn begin_pass(&mut self, to: Node, is_rival: bool) {
        let deadline = self.now + self.options.token_pass_timeout;
        // Nodes of a version without terms do not understand them.
        let terms = self.peers.terms(to.ip).map(|_| self.terms(false));
        let offer = OfferedToken {
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
            pass.on_connected(self.list.hash());
            self.out.push_operation(StreamOp::Write(id));
        }
    }

    /// Handles the bytes or the end that the candidate has sent.
    pub(super) fn on_answer(&mut self, id: StreamId, bytes: &[u8], end: bool) {
        let Some(pass) = self.role.pass_mut() else {
            return;
        };
        let is_late = pass.is_over(self.now);
        match pass.on_received(bytes, end, || self.list.encoded()) {
            // An acknowledgement proves that the candidate has the token, even if it is read late.
            Some(PassEnd::Done) => self.end_pass(PassEnd::Done),
            _ if is_late => self.on_pass_due(),
            Some(ended) => self.end_pass(ended),
            None => self.out.push_operation(StreamOp::Write(id)),
        }
    }

    pub(super) fn on_pass_closed(&mut self, why: CloseReason) {
        if let Some(end) = self.role.pass().map(|pass| pass.end_on_close(why)) {
            self.end_pass(end);
        }
    }

    /// Ends the pass if its time is over.
    pub(super) fn on_pass_due(&mut self) {
        if self.role.pass().is_some_and(|pass| pass.is_over(self.now)) {
            self.give_up_pass();
        }
    }

    /// Ends the pass as if its time were over.
    pub(super) fn give_up_pass(&mut self) {
        if let Some(end) = self
            .role
            .pass()
            .map(|pass| pass.end_on_failure(PassFailure::TimedOut))
        {
            self.end_pass(end);
        }
    }

    /// Ends the pass because its connection cannot survive a change of the network.
    pub(super) fn break_pass(&mut self) {
        let end = self
            .role
            .pass()
            .map(|pass| pass.end_on_failure(PassFailure::NetworkChanged));
        match end {
            Some(PassEnd::Failed(_)) => self.end_pass(PassEnd::Aborted),
            Some(end) => self.end_pass(end),
            None => {}
        }
    }

    /// Ends the pass with this result.
    pub(super) fn end_pass(&mut self, end: PassEnd) {
        let Some(pass) = self.role.take_pass() else {
            return;
        };
        let to = pass.to();
        if let Some(stream) = pass.stream() {
            self.out.push_operation(match end {
                PassEnd::Done => StreamOp::Close(stream),
                _ => StreamOp::Abort(stream),
            });
        }
        if pass.is_rival() {
            self.rival.forget();
        }
        for held in self.inbound.release() {
            self.out.push_operation(StreamOp::Read(held));
        }
        let is_known = self.list.contains(to.ip);
        let counters = &mut self.out.counters;
        match end {
            PassEnd::Done => {
                counters.passes_done += 1;
                self.penalties.note_done(to.ip);
                let OfferedToken { id, terms } = *pass.offered();
                self.passed_token.note(Rank::of(id, terms), self.now);
                self.follow_state.follow(id);
                self.note_heard(to.ip, None);
                self.out.push_event(Event::Passed { to });
                self.become_waiter(false);
                self.ask_for_terms(to.ip);
            }
            PassEnd::Failed(why) => {
                counters.passes_failed += 1;
                if is_known {
                    self.penalties.note_failed(to.ip);
                }
                if matches!(why, PassFailure::TimedOut | PassFailure::Unreachable) {
                    // A candidate that is unreachable has cost the time of a whole pass. The next ones must have
                    // answered lately.
                    self.peers.note_unreachable(to.ip);
                    if let Some(round) = self.role.round_mut() {
                        round.note_lost_time();
                    }
                }
                self.out.push_event(Event::PassFailed { to, why });
            }
            PassEnd::Unknown(why) => {
                counters.passes_unknown += 1;
                if is_known {
                    self.penalties.note_failed(to.ip);
                }
                self.out.push_event(Event::PassUnknown { to, why });
                self.become_orphan();
            }
            PassEnd::Aborted => {
                counters.passes_aborted += 1;
                self.out.push_event(Event::PassAborted { to });
                if let Some(round) = self.role.round_mut() {
                    *round = CandidateRound::default();
                }
            }
        }
    }
}
