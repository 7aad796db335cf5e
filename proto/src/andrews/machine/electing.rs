//! What elections want done, and what follows from winning one (`docs/board.md`, section 8).

use std::net::IpAddr;

use super::Andrews;
use crate::andrews::database::View;
use crate::andrews::election::{Scene, Step, Victory};
use crate::andrews::message::{Ballot, Said};
use crate::andrews::{Event, NodeList, Options, Reason, Write};
use crate::time::Instant;

/// The most messages that wait for a successor.
const WAITING_MAX: usize = 64;

impl Andrews {
    /// A message of an election: only members take part.
    pub(super) fn on_ballot(&mut self, from: u32, source: IpAddr, ballot: Ballot) {
        let steps = match &self.view {
            Some(view) if self.role.member().is_some() => self.elections.handle(
                from,
                ballot,
                scene(&self.options, &self.list, view, self.now),
            ),
            _ => vec![Step::Drop(Reason::NotMember)],
        };
        self.perform(steps, source);
    }

    /// Starts an election of this node's method.
    pub(super) fn start_election(&mut self) {
        let Some(view) = &self.view else {
            return;
        };
        let steps = self
            .elections
            .start(scene(&self.options, &self.list, view, self.now));
        self.out.counters.elections_started += 1;
        let method = self.elections.method();
        self.out.event(Event::ElectionStarted { method });
        self.perform_own(steps);
    }

    /// A new member whose connections are both up starts one if it is larger than the coordinator.
    pub(super) fn start_as_new(&mut self) {
        let has_predecessor = self.inbound.predecessor().is_some();
        let member = self.role.member_mut();
        if member.is_some_and(|member| member.has_settled(has_predecessor)) {
            self.start_if_due(true);
        }
    }

    /// Starts one if one is due: after a look, or as a new member.
    pub(super) fn start_if_due(&mut self, is_new: bool) {
        let Some(view) = &self.view else {
            return;
        };
        if self.role.member().is_some()
            && self
                .elections
                .is_due(scene(&self.options, &self.list, view, self.now), is_new)
        {
            self.start_election();
        }
    }

    pub(super) fn on_election_due(&mut self) {
        let Some(view) = &self.view else {
            return;
        };
        let steps = self
            .elections
            .time_out(scene(&self.options, &self.list, view, self.now));
        self.perform_own(steps);
    }

    fn perform_own(&mut self, steps: Vec<Step>) {
        if let Some(own) = self.list.address(self.options.id) {
            self.perform(steps, own.ip());
        }
    }

    fn perform(&mut self, steps: Vec<Step>, source: IpAddr) {
        let own = self.options.id;
        for step in steps {
            match step {
                Step::Ring(ballot) => self.send_round(ballot),
                Step::Tell(to, ballot) => self.out.send(&self.list, to, &Said::Election(ballot)),
                Step::TellLarger(ballot) => self.tell_members(ballot, |id| id > own),
                Step::TellAll(ballot) => self.tell_members(ballot, |id| id != own),
                Step::Won => {
                    self.out.counters.elections_won += 1;
                    let method = self.elections.method();
                    self.out.event(Event::ElectionWon { method });
                    self.victory = Some(Victory::new(self.now));
                }
                Step::Result(id) => {
                    self.database.want_look();
                    self.out.event(Event::ElectionResult { id });
                }
                Step::Drop(reason) => self.out.drop(source, reason),
            }
        }
    }

    fn tell_members(&mut self, ballot: Ballot, are: impl Fn(u32) -> bool) {
        if let Some(view) = &self.view {
            let those = view.members().filter(|&id| are(id));
            self.out.spread(Said::Election(ballot), those);
            self.out.spread_on(&self.list);
        }
    }

    /// Sends to the successor; without one the message waits.
    fn send_round(&mut self, ballot: Ballot) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(ballot);
        self.send_waiting();
    }

    pub(super) fn send_waiting(&mut self) {
        while let Some(ballot) = self.waiting.pop_front() {
            let said = Said::Election(ballot);
            if !self.send_on(&said) {
                if let Said::Election(ballot) = said {
                    self.waiting.push_front(ballot);
                }
                return;
            }
        }
    }

    /// The winner writes that it has won.
    pub(super) fn elected(&mut self) -> Option<Write> {
        let own = self.options.id;
        let view = self.view.as_ref()?;
        let victory = self.victory.as_mut().filter(|it| it.due() <= self.now)?;
        let is_outranked = view.seat().id.is_some_and(|id| id > own) && !view.acting();
        let is_written = view.seat().id == Some(own) && !view.acting();
        if is_written || victory.is_void(is_outranked) {
            self.victory = None;
            return None;
        }
        victory.on_written(self.now + self.options.poll);
        Some(Write::Elected { seen: view.seat() })
    }
}

/// What an election sees. Not a method: the elections are borrowed at the same time.
fn scene<'a>(options: &Options, list: &'a NodeList, view: &'a View, now: Instant) -> Scene<'a> {
    Scene {
        own: options.id,
        list,
        members: view.ring(),
        coordinator: view.seat().id,
        is_acting: view.acting(),
        now,
        t1: options.election_timeout,
    }
}
