//! Shutdown (`docs/board/protocol/failures.md` F12).

use super::Andrews;
use crate::StreamOp;
use crate::andrews::{Event, RequestAnswer};

impl Andrews {
    /// Begins the shutdown: the node passes its token on and then ends.
    pub(super) fn shut_down(&mut self) {
        if self.leave_by.is_some() {
            return;
        }
        let options = &self.options;
        // A job for posts that is running may still be committed, and its clients need their answer.
        let work = if self.token.job().is_some() {
            options.database_timeout
        } else {
            std::time::Duration::ZERO
        };
        self.leave_by = Some(self.now + options.ack_timeout + work);
        // The token may not come back in time. Its clients should ask another node at once.
        for request in self.requests.take_all() {
            self.answer(request.id, RequestAnswer::Token);
        }
    }

    /// Ends a node that is shutting down, when it has no token to pass on.
    pub(super) fn leave_if_done(&mut self) {
        let Some(leave_by) = self.leave_by else {
            return;
        };
        // In a ring of one there is no other node that could take the token.
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
