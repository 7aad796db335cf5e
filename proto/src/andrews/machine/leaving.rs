//! Ending (`docs/board.md`, section 6, "Shutdown").

use super::Andrews;
use crate::StreamOp;
use crate::andrews::ring::Link;
use crate::andrews::{Answer, Event};

impl Andrews {
    /// Passes on a token that is here, and ends.
    pub(super) fn shut_down(&mut self) {
        if self.leave_by.is_some() {
            return;
        }
        let options = &self.options;
        let work = if self.token.job().is_some() {
            options.database_timeout
        } else {
            std::time::Duration::ZERO
        };
        self.leave_by = Some(self.now + options.ack_timeout + work);
        for request in self.requests.give_up() {
            self.answer(request.id, Answer::Token);
        }
    }

    /// A node that is to leave ends as soon as it has no token that it could pass on.
    pub(super) fn leave_if_done(&mut self) {
        let Some(leave_by) = self.leave_by else {
            return;
        };
        let link = self.role.member().map(|member| &member.link);
        let has_other = matches!(link, Some(Link::Up(it)) if it.to != self.options.id);
        let is_working = self.token.job().is_some();
        let is_here = !self.token.is_away();
        if leave_by > self.now && is_here && (has_other || is_working) {
            return;
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.close_successor();
        let probes = self.proof.open.keys().copied();
        for id in self.inbound.all().into_iter().chain(probes) {
            self.out.operations.push_back(StreamOp::Close(id));
        }
        self.inbound.clear();
        self.proof.open.clear();
        self.proof.wanted.clear();
        self.is_finished = true;
        self.out.event(Event::ShutDown);
    }
}
