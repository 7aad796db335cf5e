//! What must survive a restart, and what a node does that cannot store it (`docs/protocol.md`, "The order of
//! tokens").

use std::time::Duration;

use crate::Stored;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Durable, Event, Lab2, Reason};

/// What is known of the storage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Storage {
    /// What was stored last.
    pub(crate) stored: Durable,
    /// It takes nothing.
    pub(crate) failed: bool,
    /// The others were told that this node owns nothing because of that, or because it is apart.
    pub(crate) told: bool,
}

impl Storage {
    pub(crate) const fn new(stored: Durable) -> Self {
        Self {
            stored,
            failed: false,
            told: false,
        }
    }
}

impl Lab2 {
    /// Whether the node takes part but owns nothing, for one reason or another.
    pub(crate) fn owns_nothing(&self) -> bool {
        self.paused || self.storage.failed || self.hearing.unfit || self.apart
    }

    /// Whether what must survive a restart can be stored. A node that cannot owns nothing.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        !self.storage.failed
    }

    pub(crate) fn on_stored(&mut self, stored: Stored) {
        let fails = stored == Stored::Failed;
        let changes = std::mem::replace(&mut self.storage.failed, fails) != fails;
        if fails {
            self.take_back();
        } else {
            self.storage.stored = self.known.durable();
        }
        if changes && fails && self.out.may_reply() {
            // Whoever hears that this node owns nothing would take it for its answer to the offer.
            self.acknowledge();
        }
        if changes {
            self.event(Event::StorageChanged { failed: fails });
            self.timer_in(Timer::Store, Duration::ZERO);
        }
    }

    /// What could not be stored has not happened: no frame tells of it, and the node is not the OWNER of it. A
    /// token that was offered to it stays with its giver; one that it has made, or could not offer, is lost,
    /// as with a node that dies.
    fn take_back(&mut self) {
        self.out.outbox.drop_all(Content::needs_storage);
        self.known.restore(self.storage.stored.known);
        if matches!(self.role, Role::Owner(_) | Role::Generating(_)) {
            self.enter_looser(Reason::NotStored, self.known.token());
            self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
        }
    }

    /// Tells all whether the node owns nothing, once, and tries again to store what it could not.
    pub(crate) fn on_store_due(&mut self) {
        let failed = self.storage.failed;
        if failed {
            self.known.store_again();
            self.timer_in(Timer::Store, self.context.constants().heartbeat);
        }
        let withheld = failed || self.apart;
        let told = std::mem::replace(&mut self.storage.told, withheld);
        if told != withheld && self.context.is_up() && !self.has_left() {
            self.broadcast(Content::Ping);
        }
    }
}
