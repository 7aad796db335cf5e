//! The group as a model for the checker: its states, and the events that lead from one state to the next.

use std::sync::Arc;
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::time::Instant;

use super::action::Action;
use super::breach::Breach;
use super::fair::Fair;
use super::group::{FlyingDatagram, Group, other};
use super::node::{Input, Node, ProgramAction};
use super::outcome::Outcome;
use super::scenario::Scenario;
use super::setup::Setup;
use crate::report::{self, Report, System};
use crate::turn_cache::{TurnCache, TurnInput};

/// A group with its scenario.
pub struct GroupModel {
    setup: Setup,
    first: Group,
    end: Instant,
    cache: TurnCache<Node, Input, Outcome>,
}

/// Explores a scenario that begins with a formed group.
///
/// # Panics
/// Panics if a state machine panics.
pub fn explore(scenario: &Scenario, threads: usize) -> Report {
    report::run(GroupModel::of(scenario.clone()), threads)
}

impl GroupModel {
    fn of(scenario: Scenario) -> Self {
        let lasts = scenario.lasts;
        let setup = Setup::of(scenario);
        let first = Fair::form(&setup);
        Self {
            setup,
            end: first.now + lasts,
            first,
            cache: TurnCache::default(),
        }
    }

    fn give_input(&self, group: &mut Group, at: usize, input: Input) {
        let turn_input = TurnInput {
            at,
            node: Arc::clone(&group.nodes[at]),
            input,
            time: group.now,
            refused: false,
        };
        let outcome = self.cache.outcome(turn_input, |turn_input| {
            Outcome::of(
                &self.setup,
                at,
                &turn_input.node,
                &turn_input.input,
                turn_input.time,
            )
        });
        group.apply(&self.setup, at, &outcome);
    }

    fn read(&self, group: &mut Group, flying: FlyingDatagram) {
        let Some(at) = group.at(&self.setup, flying.to) else {
            return;
        };
        let age = group.now.since(flying.at);
        let before = group.seen;
        self.give_input(group, at, Input::Datagram(flying.from, flying.bytes, age));
        if flying.is_of_lost_memory {
            group.revoke_certainty(&self.setup, at, before);
        }
    }

    /// Returns the process that reads a datagram.
    fn reader(&self, group: &Group, flying: &FlyingDatagram) -> Option<usize> {
        let at = group.at(&self.setup, flying.to);
        at.filter(|&at| group.nodes[at].can_receive())
    }

    /// Returns the first process with a datagram under way. If two processes read at the same time, their order does
    /// not change the result. So the model explores only one order of reads. If one datagram overtakes a second
    /// datagram, the model treats the second datagram as late.
    fn next_reader(&self, group: &Group) -> Option<usize> {
        let frames = group.frames.iter();
        frames.filter_map(|flying| self.reader(group, flying)).min()
    }

    /// Adds the events of the datagrams under way to a process.
    fn frame_actions(&self, group: &Group, node: usize, actions: &mut Vec<Action>) {
        let is_its = |flying: &&FlyingDatagram| self.reader(group, flying) == Some(node);
        // A process reads its socket in the order of arrival.
        let first = group.frames.iter().filter(is_its).map(|flying| flying.at);
        let first = first.min();
        for (frame, flying) in group.frames.iter().enumerate() {
            // Equal datagrams lead to equal states, so the model delivers only one of them.
            let is_double = frame > 0 && group.frames[frame - 1] == *flying;
            if is_double || !is_its(&flying) || Some(flying.at) != first {
                continue;
            }
            actions.push(Action::Deliver { frame });
            // A datagram in a socket has already arrived, so the model no longer loses or delays it.
            if flying.at == group.now {
                if group.left.lost > 0 {
                    actions.push(Action::Lose { frame });
                }
                if group.left.doubled > 0 {
                    actions.push(Action::Double { frame });
                }
                if group.left.late > 0 {
                    actions.push(Action::Delay { frame });
                }
            }
        }
    }

    fn late_actions(&self, group: &Group, node: usize, actions: &mut Vec<Action>) {
        for (frame, flying) in group.late.iter().enumerate() {
            if self.reader(group, flying) == Some(node) {
                actions.push(Action::DeliverLate { frame });
            }
        }
    }

    /// Adds the events of the next timeouts.
    fn time_actions(&self, group: &Group, actions: &mut Vec<Action>) {
        let nodes = group.nodes.iter().enumerate();
        let due = nodes.filter_map(|(at, node)| {
            let due = node.deadline(&self.setup, at)?.max(group.now);
            Some((at, due))
        });
        let due: Vec<(usize, Instant)> = due.collect();
        let Some(next) = due.iter().map(|(_, due)| *due).min() else {
            return;
        };
        if next > self.end {
            return;
        }
        for (node, _) in due.into_iter().filter(|(_, due)| *due == next) {
            actions.push(if group.nodes[node].stopped.is_some() {
                Action::Resume { node }
            } else {
                Action::TimeOut { node }
            });
        }
    }

    /// Adds the events of a process. A process starts, or a program makes a request, only if no datagram is under way.
    /// A datagram that is sent after a request can overtake the datagrams of the request.
    fn node_actions(&self, group: &Group, node: usize, is_quiet: bool, actions: &mut Vec<Action>) {
        let (it, left) = (&group.nodes[node], &group.left);
        if it.station.is_none() {
            if is_quiet && left.returns > 0 {
                actions.push(Action::Begin { node });
            }
            return;
        }
        let (crashes, stops) = if self.setup.scenario.is_server(node) {
            (left.crashes, left.server_stops)
        } else {
            (left.deaths, left.client_stops)
        };
        if crashes > 0 {
            actions.push(Action::Crash { node });
        }
        if it.stopped.is_some() {
            return;
        }
        if stops > 0 {
            actions.push(Action::Stop { node });
        }
        if self.setup.scenario.is_server(node) {
            if left.leaves > 0 {
                actions.push(Action::Leave { node });
            }
        } else {
            let wishes = self.wishes(group, node, is_quiet);
            actions.extend(wishes.map(|wish| Action::ProgramAction { node, wish }));
        }
    }

    fn wishes(
        &self,
        group: &Group,
        node: usize,
        is_quiet: bool,
    ) -> impl Iterator<Item = ProgramAction> + use<> {
        let it = &group.nodes[node];
        let (program, wishes) = (it.program, group.wishes);
        let asks = is_quiet && it.is_live() && !program.is_busy && wishes.asks > 0;
        let holding = it.holding(&self.setup, node, group.now);
        let holding = holding.filter(|_| !program.leaving && program.writing.is_none());
        let idle = holding.filter(|_| !program.changing);
        let alone = idle.filter(|access| *access == Access::Exclusive);
        let update = alone.map(|_| group.seen.next());
        [
            asks.then(|| ProgramAction::Ask(self.setup.scenario.access(node))),
            idle.filter(|_| wishes.gives > 0)
                .map(|_| ProgramAction::Give(update)),
            update
                .filter(|_| wishes.updates > 0)
                .map(ProgramAction::Write),
            idle.filter(|_| wishes.changes > 0)
                .map(|access| ProgramAction::Change(other(access))),
        ]
        .into_iter()
        .flatten()
    }

    fn wish(&self, group: &mut Group, node: usize, wish: ProgramAction) {
        match wish {
            ProgramAction::Ask(_) => group.wishes.asks -= 1,
            ProgramAction::Change(_) => group.wishes.changes -= 1,
            ProgramAction::Write(update) => {
                group.wishes.updates -= 1;
                group.seen.on_begun(update);
            }
            ProgramAction::Give(update) => {
                group.wishes.gives -= 1;
                if let Some(update) = update {
                    group.seen.on_begun(update);
                }
            }
        }
        self.give_input(group, node, Input::ProgramAction(wish));
    }
}

impl System for GroupModel {
    type State = Group;
    type Action = Action;
    type Breach = Breach;

    const RECOVERS: &'static str = "after the faults each client gets the token";

    fn title(&self) -> String {
        self.setup.scenario.to_string()
    }

    fn depth(&self) -> usize {
        self.setup.scenario.depth
    }

    fn recovery_limit(&self) -> Duration {
        self.setup.scenario.recovery_limit()
    }

    fn recover_one_in(&self) -> u64 {
        self.setup.scenario.recover_one_in
    }

    fn first(&self) -> Group {
        self.first.clone()
    }

    fn actions(&self, group: &Group, actions: &mut Vec<Action>) {
        if let Some(node) = self.next_reader(group) {
            self.frame_actions(group, node, actions);
            self.late_actions(group, node, actions);
            self.node_actions(group, node, false, actions);
            return;
        }
        self.time_actions(group, actions);
        for node in 0..group.nodes.len() {
            self.late_actions(group, node, actions);
            self.node_actions(group, node, true, actions);
        }
    }

    fn apply(&self, group: &mut Group, action: Action) {
        let setup = &self.setup;
        match action {
            Action::Deliver { frame } => {
                let flying = group.frames.remove(frame);
                self.read(group, flying);
            }
            Action::DeliverLate { frame } => {
                let mut flying = group.late.remove(frame);
                flying.at = group.now;
                self.read(group, flying);
            }
            Action::Lose { frame } => {
                group.left.lost -= 1;
                group.frames.remove(frame);
            }
            Action::Double { frame } => {
                group.left.doubled -= 1;
                let double = group.frames[frame].clone();
                group.late.push(double);
            }
            Action::Delay { frame } => {
                group.left.late -= 1;
                let late = group.frames.remove(frame);
                group.late.push(late);
            }
            Action::TimeOut { node } => {
                let due = group.nodes[node].deadline(setup, node).unwrap_or(group.now);
                group.now = group.now.max(due);
                self.give_input(group, node, Input::TimeOut);
            }
            Action::Resume { node } => {
                let due = group.nodes[node].stopped.unwrap_or(group.now);
                group.now = group.now.max(due);
                group.nodes[node] = Arc::new(group.nodes[node].after_stall());
            }
            Action::Crash { node } => {
                if setup.scenario.is_server(node) {
                    group.left.crashes -= 1;
                } else {
                    group.left.deaths -= 1;
                }
                group.end(setup, node);
            }
            Action::Leave { node } => {
                group.left.leaves -= 1;
                group.lose_memory(setup, node);
                self.give_input(group, node, Input::Leave);
                group.end(setup, node);
            }
            Action::Begin { node } => {
                group.left.returns -= 1;
                self.give_input(group, node, Input::Begin);
            }
            Action::Stop { node } => {
                if setup.scenario.is_server(node) {
                    group.left.server_stops -= 1;
                    group.lose_memory(setup, node);
                } else {
                    group.left.client_stops -= 1;
                }
                let until = group.now + setup.scenario.stall_duration(node);
                group.nodes[node] = Arc::new(group.nodes[node].with_stall(until));
            }
            Action::ProgramAction { node, wish } => self.wish(group, node, wish),
        }
        group.frames.sort_unstable();
        group.late.sort_unstable();
    }

    fn breach(group: &Group) -> Option<&Breach> {
        group.breach.as_ref()
    }

    fn recover(&self, group: &Group) -> Result<Duration, Breach> {
        Fair::recover(&self.setup, group)
    }

    fn describe(&self, group: &Group, action: Action) -> String {
        action.describe(group)
    }
}
