//! The actions that elections require, and the database write that makes the winner the coordinator
//! (`docs/board/protocol/elections.md`, rules E).

use std::net::IpAddr;

use super::Andrews;
use crate::andrews::database::View;
use crate::andrews::election::{Action, NodeView, Victory};
use crate::andrews::message::{OwnedElection, OwnedMessage};
use crate::andrews::{Event, NodeList, Options, Reason, Write};
use crate::time::Instant;

// Without a successor, messages would pile up. The oldest are the least useful, because later messages replace them.
const WAITING_MAX: usize = 64;

impl Andrews {
    /// Handles a message of an election. Only members take part.
    pub(super) fn on_election_message(
        &mut self,
        from: u32,
        source: IpAddr,
        election: OwnedElection,
    ) {
        let actions = match &self.view {
            // A node outside the ring must not win, because it cannot pass on the result.
            Some(view) if self.role.member().is_some() => self.elections.on_message(
                from,
                election,
                node_view(&self.options, &self.list, view, self.now),
            ),
            _ => vec![Action::Drop(Reason::NotMember)],
        };
        self.perform(actions, source);
    }

    /// Starts an election with this node's own method.
    pub(super) fn start_election(&mut self) {
        let Some(view) = &self.view else {
            return;
        };
        let actions = self
            .elections
            .start(node_view(&self.options, &self.list, view, self.now));
        self.out.counters.elections_started += 1;
        let method = self.elections.method();
        self.out.push_event(Event::ElectionStarted { method });
        self.perform_for_own(actions);
    }

    /// Starts an election if this node is a new member, is larger than the coordinator, and has both connections up.
    pub(super) fn start_as_new_member(&mut self) {
        let has_predecessor = self.inbound.predecessor().is_some();
        let member = self.role.member_mut();
        if member.is_some_and(|member| member.take_settled(has_predecessor)) {
            self.start_if_due(true);
        }
    }

    /// Starts an election if it is due: after a look, or because this node is a new member.
    pub(super) fn start_if_due(&mut self, is_new: bool) {
        let Some(view) = &self.view else {
            return;
        };
        if self.role.member().is_some()
            && self
                .elections
                .take_due(node_view(&self.options, &self.list, view, self.now), is_new)
        {
            self.start_election();
        }
    }

    pub(super) fn on_election_due(&mut self) {
        let Some(view) = &self.view else {
            return;
        };
        let actions =
            self.elections
                .on_timeout(node_view(&self.options, &self.list, view, self.now));
        self.perform_for_own(actions);
    }

    fn perform_for_own(&mut self, actions: Vec<Action>) {
        if let Some(own) = self.list.address(self.options.id) {
            self.perform(actions, own.ip());
        }
    }

    fn perform(&mut self, actions: Vec<Action>, source: IpAddr) {
        let own = self.options.id;
        for action in actions {
            match action {
                Action::SendToSuccessor(election) => self.queue_for_successor(election),
                Action::SendTo(to, election) => {
                    self.out
                        .send(&self.list, to, &OwnedMessage::Election(election));
                }
                Action::SendToLarger(election) => self.send_to_members(election, |id| id > own),
                Action::SendToOthers(election) => self.send_to_members(election, |id| id != own),
                Action::Won => {
                    self.out.counters.elections_won += 1;
                    let method = self.elections.method();
                    self.out.push_event(Event::ElectionWon { method });
                    self.victory = Some(Victory::new(self.now));
                }
                Action::ReadRows(id) => {
                    // A result is only a hint. The row decides which node is the coordinator.
                    self.database.want_look();
                    self.out.push_event(Event::ElectionResult { id });
                }
                Action::Drop(reason) => self.out.report_drop(source, reason),
            }
        }
    }

    fn send_to_members(&mut self, election: OwnedElection, are: impl Fn(u32) -> bool) {
        if let Some(view) = &self.view {
            let those = view.members().filter(|&id| are(id));
            self.out.broadcast(OwnedMessage::Election(election), those);
            self.out.continue_broadcasts(&self.list);
        }
    }

    /// Queues a message for the successor. The message waits until there is a successor.
    fn queue_for_successor(&mut self, election: OwnedElection) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(election);
        self.send_waiting();
    }

    pub(super) fn send_waiting(&mut self) {
        while let Some(election) = self.waiting.pop_front() {
            let message = OwnedMessage::Election(election);
            if !self.send_to_successor(&message) {
                if let OwnedMessage::Election(election) = message {
                    // The message stays the first message for the next connection.
                    self.waiting.push_front(election);
                }
                return;
            }
        }
    }

    /// If this node won an election, returns the write that makes it the coordinator.
    pub(super) fn victory_write(&mut self) -> Option<Write> {
        let own = self.options.id;
        let view = self.view.as_ref()?;
        let victory = self.victory.as_mut().filter(|it| it.due() <= self.now)?;
        let is_outranked = view.seat().id.is_some_and(|id| id > own) && !view.acting();
        let is_written = view.seat().id == Some(own) && !view.acting();
        if is_written || victory.is_abandoned(is_outranked) {
            self.victory = None;
            return None;
        }
        // If the database does not answer, the node writes its victory again after a poll.
        victory.on_written(self.now + self.options.poll);
        Some(Write::Elected { seen: view.seat() })
    }
}

/// Returns the state that an election may use. This is a function without `self`, because the caller borrows the
/// elections at the same time.
fn node_view<'a>(
    options: &Options,
    list: &'a NodeList,
    view: &'a View,
    now: Instant,
) -> NodeView<'a> {
    NodeView {
        own: options.id,
        list,
        members: view.ring(),
        coordinator: view.seat().id,
        is_acting: view.acting(),
        now,
        t1: options.election_timeout,
    }
}
