//! The steps of a leader's turn (`docs/jitterbug/protocol/leader.md` L1 to L14, K1 to K9).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::data::DataResult;
use crate::jitterbug::role::{CandidateRound, Role, Turn, TurnInput, TurnStep};
use crate::jitterbug::{Event, Options, Reason};
use crate::time::Instant;

/// If a node has never answered, this node removes that node from the list instead of asking for the seventh time.
const FORGET_AT_ASK: u32 = 7;

impl Jitterbug {
    /// Returns the time until which a leader without local work keeps the token.
    pub(super) fn held_until(&self, turn: &Turn) -> Instant {
        let Options {
            hold,
            renew_timeout,
            token_pass_timeout,
            ..
        } = self.options;
        let hold = if self.leave_by.is_some() {
            Duration::ZERO
        } else {
            hold
        };
        let until = turn.held_until(hold, renew_timeout, self.list.len());
        // A node that ends waits for its decisions. Otherwise it would pass its older data, and the received data would
        // be lost with its process.
        let leaves = self.leave_by.filter(|_| self.data.is_deciding());
        leaves.map_or(until, |end| until.max(end.before(token_pass_timeout)))
    }

    /// Whether the turn must not wait, because a stronger token exists or the node is shutting down.
    fn has_to_hurry(&self) -> bool {
        self.leave_by.is_some() || self.stronger().is_some()
    }

    /// Whether the token stays at this node because of local work.
    pub(super) fn is_kept_for_work(&self) -> bool {
        // Programs use only the stronger token of two rings, so local work must not keep the weaker token.
        self.has_work && self.leave_by.is_none() && !self.is_outranked()
    }

    /// Takes the next step of a turn. Returns whether a step was taken.
    pub(super) fn take_turn_step(&mut self) -> bool {
        let Some(turn) = self.role.turn() else {
            return false;
        };
        let is_held = self.held_until(turn) > self.now || self.is_kept_for_work();
        let given = TurnInput {
            is_deciding: self.data.is_deciding(),
            has_to_hurry: self.has_to_hurry(),
            is_kept: is_held && self.stronger().is_none(),
        };
        match self.role.turn_mut().map(|turn| turn.step(given)) {
            None | Some(TurnStep::Wait) => return false,
            Some(TurnStep::Continue) => {}
            Some(TurnStep::Compute) => {
                self.out.counters.computes += 1;
                let ended = self.data.compute(self.now, &self.options);
                self.on_data_result(ended);
            }
            Some(TurnStep::CancelComputation) => self.data.cancel_computation(),
            Some(TurnStep::TryCandidate) => return self.try_next_candidate(),
        }
        true
    }

    fn try_next_candidate(&mut self) -> bool {
        let (now, timeout) = (self.now, self.options.token_pass_timeout);
        let is_in_the_way = self.inbound.blocks_pass();
        let Some(round) = self.role.round_mut() else {
            return false;
        };
        if is_in_the_way {
            // A node that gives and takes at the same time could end with two tokens, or with none.
            if round.delay(now, timeout) {
                return false;
            }
            // A giver that hangs must not keep the token here any longer.
            for id in self.inbound.blocking_exchanges() {
                self.reset_exchange(id, Reason::Late);
            }
        }
        if self
            .role
            .round_mut()
            .is_some_and(CandidateRound::begin_passing)
        {
            // The list changes before the first pass and not during a pass, so that TP1 and TP4 have the same list
            // (L7).
            let added = self.list.apply_additions();
            self.report_added(&added);
            self.forget_silent_nodes();
        }
        // The ring of the stronger token continues, so its leader gets this token before all other nodes.
        if let Some(rival) = self.stronger() {
            self.out.push_event(Event::GaveWay {
                to: rival.leader.ip,
                token_id: rival.rank.id.random(),
            });
            self.begin_pass(rival.leader, true);
        } else if let Some(candidate) = self.next_candidate() {
            self.begin_pass(candidate, false);
        } else if self.leave_by.is_some() && self.list.len() <= 1 {
            // No other node can take the token.
            self.finish();
            return false;
        } else {
            // No candidate took the token. The new turn holds it for a minimum time, so that the loop does not spin.
            self.role = Role::Leader(self.next_turn(true));
        }
        true
    }

    /// Returns the next node of the list that is not skipped.
    fn next_candidate(&mut self) -> Option<Node> {
        let own = self.own()?.ip;
        let place = self.list.place(own);
        loop {
            let len = self.list.len();
            let next = self.role.round_mut()?.next_place(place, len)?;
            let node = self.list.get(next)?;
            // A node that shuts down tries every candidate, because the token would be lost with its process.
            let is_skipped = self.leave_by.is_none() && self.penalties.take_skip(node.ip);
            // A node of another ring would refuse the token.
            if node.ip == own || is_skipped || self.foreign_nodes.has(node.ip) {
                continue;
            }
            if self.is_reachable(node.ip) {
                return Some(node);
            }
            self.ask_for_sign_of_life(node.ip);
        }
    }

    /// Whether the candidate is likely to answer, so that a pass is worth its time. The candidate must have answered
    /// since the last pass that could not reach it. If a pass of this turn already ran into its time limit, the next
    /// candidate must have answered within the last `renew_timeout`. So at most one pass of a turn runs into its time
    /// limit.
    fn is_reachable(&self, node: IpAddr) -> bool {
        let round = self.role.round();
        let has_lost_time = round.is_some_and(CandidateRound::has_lost_time);
        let since = self.now.before(self.options.renew_timeout);
        let since = has_lost_time.then_some(since);
        self.peers.has_answered_since(node, since)
    }

    /// Asks a node for a TR1. The turn does not wait for the answer. The number of these questions per turn is limited.
    fn ask_for_sign_of_life(&mut self, node: IpAddr) {
        if !self.role.round_mut().is_some_and(CandidateRound::count_ask) {
            return;
        }
        // A question counts as a failure, so that a dead node is asked at longer and longer intervals.
        let asked = self.penalties.note_failed(node);
        if asked >= FORGET_AT_ASK && !self.peers.has_heard(node) {
            self.silent.push(node);
        } else {
            self.ask_for_tr1(node);
        }
    }

    /// Removes from the list the nodes that were often asked and have never answered.
    fn forget_silent_nodes(&mut self) {
        for node in std::mem::take(&mut self.silent) {
            // The node may have answered since the last question.
            if self.peers.has_heard(node) || self.is_own(node) {
                continue;
            }
            if let Some(node) = self.list.forget(node) {
                self.penalties.forget(node.ip);
                self.out.push_event(Event::NodeForgotten { node });
            }
        }
    }

    pub(super) fn report_added(&mut self, nodes: &[Node]) {
        for &node in nodes {
            self.out.push_event(Event::NodeAdded { node });
        }
    }

    /// Makes decisions about received data one by one, until a job runs or no data wait.
    pub(super) fn decide_waiting(&mut self) {
        loop {
            let decisions = &mut self.out.counters.decisions;
            let ended = self.data.decide_next(self.now, &self.options, decisions);
            if ended.is_none() {
                break;
            }
            self.on_data_result(ended);
        }
    }

    /// Handles the end of a computation or a decision.
    pub(super) fn on_data_result(&mut self, ended: Option<DataResult>) {
        let turn = self.role.turn_mut();
        let counters = &mut self.out.counters;
        let is_changed = match ended {
            None => return,
            Some(DataResult::Computed { failed }) => {
                if let Some(turn) = turn {
                    turn.on_computed();
                }
                if failed {
                    counters.compute_failures += 1;
                    self.out.push_event(Event::ComputeFailed);
                }
                !failed
            }
            Some(DataResult::Decided { failed, changed }) => {
                // The node computes again, because the next data must continue from the changed data.
                if let Some(turn) = turn.filter(|_| changed) {
                    turn.on_changed();
                }
                if failed {
                    counters.decide_failures += 1;
                    self.out.push_event(Event::DecideFailed);
                }
                changed
            }
        };
        if is_changed {
            let len = self.data.bytes().len();
            self.out.push_event(Event::DataChanged { len });
        }
    }
}
