//! Nodes that the list lacks: rows of the database, and senders (`docs/board/operate.md`, "The list").

use std::net::IpAddr;

use super::Andrews;
use crate::andrews::Event;

impl Andrews {
    /// Notes the rows of a look, and reports the rows of nodes that are not in the list.
    pub(super) fn note_rows(&mut self, rows: &[u32]) {
        let strange = rows.iter().copied();
        let strange = strange.filter(|&id| self.list.address(id).is_none());
        for id in self.unlisted.note_rows(strange.collect()) {
            self.out.push_event(Event::UnknownRow { id });
        }
    }

    /// Notes and reports the sender of a frame, if the sender is not in the list or has a different address in the
    /// list.
    pub(super) fn note_sender(&mut self, id: u32, from: IpAddr) {
        // A node may receive its own frames, which come from the right address.
        if self.list.is_from(id, from) {
            return;
        }
        let (now, period) = (self.now, self.options.alone_timeout);
        if self.unlisted.note_sender(id, from, now, period) {
            self.out.push_event(Event::UnknownSender { id, from });
        }
    }
}
