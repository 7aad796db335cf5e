//! Nodes that the list does not have: rows of the database, and senders (`docs/board.md`, section 1).

use std::net::IpAddr;

use super::Andrews;
use crate::andrews::Event;

impl Andrews {
    /// A look has read these rows.
    pub(super) fn note_rows(&mut self, rows: &[u32]) {
        let strange = rows.iter().copied();
        let strange = strange.filter(|&id| self.list.address(id).is_none());
        for id in self.strangers.note_rows(strange.collect()) {
            self.out.event(Event::UnknownRow { id });
        }
    }

    /// A frame has come from an address that is not its node's.
    pub(super) fn note_sender(&mut self, id: u32, from: IpAddr) {
        if self.list.is_from(id, from) {
            return;
        }
        let (now, period) = (self.now, self.options.alone_timeout);
        if self.strangers.note_sender(id, from, now, period) {
            self.out.event(Event::UnknownSender { id, from });
        }
    }
}
