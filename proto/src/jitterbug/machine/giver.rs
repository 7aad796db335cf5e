//! The giver's side of a pass (`docs/jitterbug/protocol/passing.md` P1 to P11).

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::role::{CandidateRound, OfferedToken, Pass, PassEnd};
use crate::jitterbug::tokens::Rank;
use crate::jitterbug::{Event, PassFailure};
use crate::{CloseReason, StreamId, StreamOp};

impl Jitterbug {
    pub(super) fn begin_pass(&mut self, to: Node, is_rival: bool) {
        // The limit includes the time to connect, so that a dead candidate costs only one timeout.
        let deadline = self.now + self.options.token_pass_timeout;
        // A node that sends no terms is of a version that does not understand terms.
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
        // The connection may be up only after the time of the pass.
        self.on_pass_due();
        if let Some(pass) = self.role.pass_mut() {
            pass.on_connected(self.list.hash());
            self.out.push_operation(StreamOp::Write(id));
        }
    }

    /// Handles bytes from the candidate, or the end of its stream.
    pub(super) fn on_answer(&mut self, id: StreamId, bytes: &[u8], end: bool) {
        let Some(pass) = self.role.pass_mut() else {
            return;
        };
        let is_late = pass.is_over(self.now);
        match pass.on_received(bytes, end, || self.list.encode()) {
            // An acknowledgement proves that the candidate has the token, even if it is read late.
            Some(PassEnd::Done) => self.end_pass(PassEnd::Done),
            // TP2 and TP3 do not count after the time, because the candidate may have given up.
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

    /// If the time of the pass is over, ends the pass.
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
            .map(|pass| pass.classify_failure(PassFailure::TimedOut))
        {
            self.end_pass(end);
        }
    }

    /// Ends the pass because its connection cannot survive a change of the network.
    pub(super) fn break_pass(&mut self) {
        let end = self
            .role
            .pass()
            .map(|pass| pass.classify_failure(PassFailure::NetworkChanged));
        match end {
            // The candidate did not cause this end, so it gets no penalty.
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
                // After a normal end, half of the data would look like a complete token. So all other passes end with a
                // reset.
                PassEnd::Done => StreamOp::Close(stream),
                _ => StreamOp::Abort(stream),
            });
        }
        // The rival must announce itself again before this node again tries to pass the token to it.
        if pass.is_rival() {
            self.rival.forget();
        }
        // The givers that waited for the end of this pass come before the next candidate.
        for held in self.inbound.release() {
            self.out.push_operation(StreamOp::Read(held));
        }
        // A rival need not be in the list. Only nodes of the list have penalties.
        let is_known = self.list.contains(to.ip);
        let counters = &mut self.out.counters;
        match end {
            PassEnd::Done => {
                counters.passes_done += 1;
                self.penalties.note_done(to.ip);
                let OfferedToken { id, terms } = *pass.offer();
                self.passed_token.note(Rank::of(id, terms), self.now);
                self.follow_state.follow(id);
                // The acknowledgement is a sign of life.
                self.note_heard(to.ip, None);
                self.out.push_event(Event::Passed { to });
                self.become_waiter(false);
                // The node asks as a waiter, so that its TR1 is no announcement.
                self.ask_for_terms(to.ip);
            }
            PassEnd::Failed(why) => {
                counters.passes_failed += 1;
                if is_known {
                    self.penalties.note_failed(to.ip);
                }
                if matches!(why, PassFailure::TimedOut | PassFailure::Unreachable) {
                    // An unreachable candidate has cost the time of a whole pass. The next candidates must have
                    // answered recently.
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
                // The restore finds the candidate as the new leader, or replaces the token.
                self.become_orphan();
            }
            PassEnd::Aborted => {
                counters.passes_aborted += 1;
                self.out.push_event(Event::PassAborted { to });
                if let Some(round) = self.role.round_mut() {
                    // After the inbound pass the turn continues with step 4, because the list may have new entries.
                    *round = CandidateRound::default();
                }
            }
        }
    }
}
