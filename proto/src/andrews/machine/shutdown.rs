//! Shutdown (`docs/board.md`, section 6, "Shutdown").

use super::Andrews;
use crate::StreamOp;
use crate::andrews::{Event, RequestAnswer};

impl Andrews {
    /// Begins the shutdown: the node passes on its token, and then ends.
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
        // A job for posts that is running may still be committed. Its clients get their answer before the node ends.
        self.leave_by = Some(self.now + options.ack_timeout + work);
        for request in self.requests.take_all() {
            self.answer(request.id, RequestAnswer::Token);
        }
    }

    /// Ends a node that is shutting down as soon as it has no token that it could pass on.
    pub(super) fn leave_if_done(&mut self) {
        let Some(leave_by) = self.leave_by else {
            return;
        };
        let successor = self.role.successor();
        let has_other = successor.is_some_and(|it| it.id() != self.options.id);
        // In a ring of one there is no other node that could take the token.
        let is_working = self.token.job().is_some();
        let is_here = !self.token.is_away();
        if leave_by > self.now && is_here && (has_other || is_working) {
            return;
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.close_successor();
        for id in self
            .inbound
            .streams()
            .into_iter()
            .chain(self.proof.streams())
        {
            self.out.push_operation(StreamOp::Close(id));
        }
        self.inbound.clear();
        self.proof.clear();
        self.is_finished = true;
        self.out.push_event(Event::ShutDown);
    }
}
