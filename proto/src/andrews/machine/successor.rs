//! Opening and closing the connection to the successor that the node's row names (`docs/board/protocol/members.md`,
//! rules C and L; `failures.md`, rules F).

use super::Andrews;
use crate::andrews::message::OwnedMessage;
use crate::andrews::ring::{Membership, OwnRow, ProcessEvidence, RowAction};
use crate::andrews::{Event, SuccessorLoss};
use crate::time::Instant;
use crate::{CloseReason, StreamId, StreamOp};

impl Andrews {
    /// Connects to the successor that the node's row names, unless the connection exists.
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
        match member.follow_row(row, is_passing, self.now, ack_timeout) {
            RowAction::Stay => {}
            RowAction::Connect(lost_at, evidence) => self.connect(successor, lost_at, evidence),
            RowAction::Failed => {
                self.out
                    .push_event(Event::SuccessorFailed { id: successor });
                // The look that showed the failure is new enough for the first request.
                self.step_repeated_request();
            }
        }
    }

    fn connect(&mut self, to: u32, lost_at: Option<Instant>, evidence: ProcessEvidence) {
        self.close_successor();
        let until = self.now + self.options.connect_timeout;
        if let Some(member) = self.role.member_mut() {
            member.connect(to, until, lost_at, evidence);
        }
        // A node that is not in the list cannot be reached.
        if self.list.address(to).is_none() {
            self.lose_successor(SuccessorLoss::NotConnected);
        }
    }

    pub(super) fn on_successor_connected(&mut self, id: StreamId) {
        let Some(member) = self.role.member_mut() else {
            return;
        };
        let to = member.connect_target(id);
        let Some((to, address)) = to.and_then(|to| Some((to, self.list.address(to)?))) else {
            return;
        };
        member.on_connected(to, id, address.ip());
        self.out.push_event(Event::SuccessorUp { id: to });
        self.note_contact_with(to);
        // The hello must be the first frame, before any message that waits.
        self.send_to_successor(&OwnedMessage::Successor(to));
        self.elections.on_successor_changed();
        self.send_waiting();
    }

    /// Handles the kernel's report that the connection to the successor is closed or cannot be opened.
    pub(super) fn on_successor_closed(&mut self, why: CloseReason) {
        let member = self.role.member();
        let Some((loss, evidence)) = member.and_then(|member| member.loss_on_close(why)) else {
            return;
        };
        let to = member.and_then(Membership::target);
        self.lose_with_evidence(loss, evidence);
        if let Some(to) = to.filter(|_| why == CloseReason::Refused) {
            // A host that refuses is reachable. This proof counts, because it is not older than the loss.
            self.note_contact_with(to);
        }
    }

    pub(super) fn lose_with_evidence(&mut self, why: SuccessorLoss, evidence: ProcessEvidence) {
        self.lose_successor(why);
        if let Some(member) = self.role.member_mut() {
            member.set_evidence(evidence);
        }
    }

    /// Records that the successor is lost: closes the connection, takes back a token that is on its way, and requests a
    /// look.
    pub(super) fn lose_successor(&mut self, why: SuccessorLoss) {
        let now = self.now;
        let member = self.role.member_mut();
        let Some((to, stream)) = member.and_then(|member| member.lose(why, now)) else {
            return;
        };
        if let Some(stream) = stream {
            self.out.push_operation(StreamOp::Close(stream));
        }
        self.database.want_look();
        self.out.push_event(Event::SuccessorLost { id: to, why });
        // No acknowledgement can arrive now, so the token would be lost with its connection.
        if self.token.is_passing() {
            self.out.counters.passes_failed += 1;
            match self.token.take_back(now) {
                Some(sequence) => self.out.push_event(Event::TokenReturned { sequence }),
                // A token at the end of its term cannot get a lead, so this node discards it.
                None => self.lose_token(),
            }
        }
    }

    pub(super) fn on_link_due(&mut self) {
        let (now, liveness) = (self.now, self.options.liveness);
        let member = self.role.member();
        if let Some(why) = member.and_then(|member| member.overdue_loss(now, liveness)) {
            self.lose_successor(why);
        }
    }

    /// Returns the time of the next timeout of the connection to the successor.
    pub(super) fn link_due(&self) -> Option<Instant> {
        self.role.member()?.due(self.options.liveness)
    }
}
