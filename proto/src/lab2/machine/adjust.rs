//! Constants that change while the node runs.

use super::outbox::Content;
use crate::lab2::{Adjustment, Lab2};
use crate::time::Instant;

impl Lab2 {
    /// Replaces constants of this node, and announces a new expected number of members at once.
    pub(super) fn adjust(&mut self, adjustment: Adjustment) {
        let earlier = self.context.clone();
        self.context.adjust(adjustment);
        if earlier.profile() != self.context.profile() {
            self.members
                .adjust_profiles(&earlier, &self.context, &mut self.out);
            self.review_constants();
            if self.context.is_up() && !self.is_shutting_down() {
                // The giver would take the PING for the answer to its offer, so the acknowledgement comes first.
                self.acknowledge();
                self.broadcast(Content::Ping);
            }
        }
        let idle_hold = self.context.constants().idle_hold;
        if idle_hold != earlier.constants().idle_hold {
            self.restart_hold(self.context.now() + idle_hold);
        }
    }

    /// Sets the time until which an idle OWNER keeps its token.
    fn restart_hold(&mut self, until: Instant) {
        if self.role.unoffered_tenure().is_none() {
            return;
        }
        if let Some(tenure) = self.role.tenure_mut() {
            tenure.set_hold_until(until);
        }
        self.schedule_handover();
    }
}
