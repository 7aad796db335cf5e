//! Nodes that the list lacks: rows of the database, and senders (`docs/board.md`, section 1).

use std::net::IpAddr;

use super::Andrews;
use crate::andrews::Event;

impl Andrews {
    /// Notes the rows of a look, and reports those that the list lacks.
    pub(super) fn note_rows(&mut self, rows: &[u32]) {
        let strange = rows.iter().copied();
        let strange = strange.filter(|&id| self.list.address(id).is_none());
        for id in self.unlisted.note_rows(strange.collect()) {
            self.out.push_event(Event::UnknownRow { id });
        }
    }

    /// Notes the sender of a frame whose address is not that of its node, and reports it.
    pub(super) fn note_sender(&mut self, id: u32, from: IpAddr) {
        if self.list.is_from(id, from) {
            // A node may also receive its own frames: they come from the right address.
            return;
        }
        let (now, period) = (self.now, self.options.alone_timeout);
        if self.unlisted.note_sender(id, from, now, period) {
            self.out.push_event(Event::UnknownSender { id, from });
        }
    }
}
