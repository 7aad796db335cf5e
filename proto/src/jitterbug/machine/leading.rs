//! The steps of a leader's turn (`docs/jitterbug.md`, section 5).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::Jitterbug;
use crate::jitterbug::data::Ended;
use crate::jitterbug::role::{Given, Role, Round, Step, Turn};
use crate::jitterbug::{Event, Options, Reason};
use crate::time::Instant;

/// A node that has not answered before it would be asked this time is forgotten.
const LAST_ASK: u32 = 7;

impl Jitterbug {
    /// Until when a leader holds the token, without local work.
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
        // Who leaves would pass data that is behind what it was given, or lose that.
        let leaves = self.leave_by.filter(|_| self.data.is_deciding());
        leaves.map_or(until, |end| until.max(end.before(token_pass_timeout)))
    }

    /// Whether nothing is waited for any more: a stronger token was heard of, or the node is to leave.
    fn is_in_haste(&self) -> bool {
        self.leave_by.is_some() || self.stronger().is_some()
    }

    /// Whether local work keeps the token here.
    pub(super) fn keeps_for_work(&self) -> bool {
        self.has_work && self.leave_by.is_none() && !self.is_outranked()
    }

    /// Takes the next step of a turn, if it can be taken. Returns whether it was.
    pub(super) fn go_on(&mut self) -> bool {
        let Some(turn) = self.role.turn() else {
            return false;
        };
        let is_held = self.held_until(turn) > self.now || self.keeps_for_work();
        let given = Given {
            is_deciding: self.data.is_deciding(),
            is_in_haste: self.is_in_haste(),
            is_kept: is_held && self.stronger().is_none(),
        };
        match self.role.turn_mut().map(|turn| turn.step(given)) {
            None | Some(Step::Wait) => return false,
            Some(Step::On) => {}
            Some(Step::Compute) => {
                self.out.counters.computes += 1;
                let ended = self.data.compute(self.now, &self.options);
                self.on_ended(ended);
            }
            Some(Step::DropComputed) => self.data.cancel_computation(),
            Some(Step::Try) => return self.try_next(),
        }
        true
    }

    /// Between two candidates, or before the first.
    fn try_next(&mut self) -> bool {
        let (now, timeout) = (self.now, self.options.token_pass_timeout);
        let is_in_the_way = self.inbound.is_in_the_way();
        let Some(round) = self.role.round_mut() else {
            return false;
        };
        if is_in_the_way {
            if round.put_off(now, timeout) {
                return false;
            }
            for id in self.inbound.in_the_way() {
                self.reset(id, Reason::Late);
            }
        }
        if self.role.round_mut().is_some_and(Round::go_on) {
            let added = self.list.apply();
            self.tell_added(&added);
            self.forget_silent();
        }
        if let Some(rival) = self.stronger() {
            self.out.event(Event::GaveWay {
                to: rival.leader.ip,
                token_id: rival.rank.id.random(),
            });
            self.begin_pass(rival.leader, true);
        } else if let Some(candidate) = self.next_candidate() {
            self.begin_pass(candidate, false);
        } else if self.leave_by.is_some() && self.list.len() <= 1 {
            // There is nobody to hand the token to.
            self.finish();
            return false;
        } else {
            self.role = Role::Leader(self.next_turn(true));
        }
        true
    }

    /// The next in the list that is not skipped.
    fn next_candidate(&mut self) -> Option<Node> {
        let own = self.own()?.ip;
        let place = self.list.place(own);
        loop {
            let len = self.list.len();
            let next = self.role.round_mut()?.next(place, len)?;
            let node = self.list.get(next)?;
            let is_skipped = self.leave_by.is_none() && self.penalties.skips(node.ip);
            if node.ip == own || is_skipped || self.foreign.has(node.ip) {
                continue;
            }
            if self.is_there(node.ip) {
                return Some(node);
            }
            self.ask_for_life(node.ip);
        }
    }

    /// Whether a pass to a node is worth its time: it has answered this node. Once a candidate of a turn has cost the
    /// time of a pass, the others must have answered of late, so that no turn costs more than that.
    fn is_there(&mut self, node: IpAddr) -> bool {
        let round = self.role.round_mut();
        let has_cost_time = round.is_some_and(|round| round.has_cost_time());
        let since = self.now.before(self.options.renew_timeout);
        let since = has_cost_time.then_some(since);
        self.peers.answers(node, since)
    }

    /// Asks a node that only others know for a TR1, which costs no time. No more than a few in a turn.
    fn ask_for_life(&mut self, node: IpAddr) {
        if !self.role.round_mut().is_some_and(Round::may_ask) {
            return;
        }
        let asked = self.penalties.failed(node);
        if asked >= LAST_ASK && !self.peers.has_heard(node) {
            self.silent.push(node);
        } else {
            self.ask(node);
        }
    }

    /// Forgets the nodes that were asked for long, and have never answered.
    fn forget_silent(&mut self) {
        for node in std::mem::take(&mut self.silent) {
            if self.peers.has_heard(node) || self.is_own(node) {
                continue;
            }
            if let Some(node) = self.list.forget(node) {
                self.penalties.forget(node.ip);
                self.out.event(Event::NodeForgotten { node });
            }
        }
    }

    pub(super) fn tell_added(&mut self, nodes: &[Node]) {
        for &node in nodes {
            self.out.event(Event::NodeAdded { node });
        }
    }

    /// Goes on with what waits to be decided.
    pub(super) fn decide(&mut self) {
        loop {
            let decisions = &mut self.out.counters.decisions;
            let ended = self.data.decide(self.now, &self.options, decisions);
            if ended.is_none() {
                break;
            }
            self.on_ended(ended);
        }
    }

    /// A computation or a decision has ended.
    pub(super) fn on_ended(&mut self, ended: Option<Ended>) {
        let turn = self.role.turn_mut();
        let counters = &mut self.out.counters;
        let is_changed = match ended {
            None => return,
            Some(Ended::Computed { failed }) => {
                if let Some(turn) = turn {
                    turn.on_computed();
                }
                if failed {
                    counters.compute_failures += 1;
                    self.out.event(Event::ComputeFailed);
                }
                !failed
            }
            Some(Ended::Decided { failed, changed }) => {
                if let Some(turn) = turn.filter(|_| changed) {
                    turn.on_changed();
                }
                if failed {
                    counters.decide_failures += 1;
                    self.out.event(Event::DecideFailed);
                }
                changed
            }
        };
        if is_changed {
            let len = self.data.bytes().len();
            self.out.event(Event::DataChanged { len });
        }
    }
}
