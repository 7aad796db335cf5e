//! Ending (`docs/board.md`, section 6, "Shutdown").

use super::Andrews;
use crate::StreamOp;
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
        let successor = self.role.successor();
        let has_other = successor.is_some_and(|it| it.id() != self.options.id);
        let is_working = self.token.job().is_some();
        let is_here = !self.token.is_away();
        if leave_by > self.now && is_here && (has_other || is_working) {
            return;
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.close_successor();
        for id in self.inbound.all().into_iter().chain(self.proof.all()) {
            self.out.operate(StreamOp::Close(id));
        }
        self.inbound.clear();
        self.proof.give_up();
        self.is_finished = true;
        self.out.event(Event::ShutDown);
    }
}
