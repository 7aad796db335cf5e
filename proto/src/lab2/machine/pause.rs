//! A member that takes part but never owns: maintenance (`docs/protocol.md`, "Pausing").

use ring_codec::MacAddr;

use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// From now on this node owns nothing, or may own again. All are told.
    pub(crate) fn set_paused(&mut self, paused: bool) {
        if !paused {
            self.recover();
        }
        if self.paused == paused || self.is_shutting_down() {
            return;
        }
        self.paused = paused;
        if !self.context.is_up() {
            return;
        }
        if paused {
            // Whoever hears that this node is paused would take it for its answer to the offer.
            self.acknowledge();
        }
        self.broadcast(Content::Ping);
        if !paused {
            return;
        }
        if let Role::Generating(candidate) = self.role {
            self.stand_down(Reason::Paused, candidate);
        } else {
            self.pass();
        }
    }

    /// PING says whether its author is paused. An offer to one that is has failed: it will not be
    /// taken. But only once a period: where two share an address, one of which is paused and one
    /// wants the token, offers and failures would follow each other without a pause.
    pub(crate) fn on_paused(&mut self, from: MacAddr, paused: bool) {
        self.table.set_paused(from, paused);
        if let Some(offer) = self.role.offer()
            && paused
            && offer.to == from
            && self.once_a_period(from, |notes| &mut notes.refused)
        {
            self.hand_over_failed(offer);
        } else if !paused && self.may_pass() && !self.out.is_set(Timer::Pass) {
            self.plan_pass();
        }
    }

    /// Whether the node takes part but owns nothing.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }
}
