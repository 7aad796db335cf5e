//! Constants and announcements that change while the node runs.

use super::outbox::Content;
use crate::lab2::{Adjustment, Lab2};

impl Lab2 {
    /// Replaces constants of this node. Announces the new values at once if members need them.
    pub(super) fn adjust(&mut self, adjustment: Adjustment) {
        let earlier = self.context.clone();
        self.context.adjust(adjustment);
        let is_preference_new = earlier.preference() != self.context.preference();
        let is_renamed = self.diagnostics.set_host_name(adjustment.host_name);
        if earlier.profile() != self.context.profile() || is_preference_new || is_renamed {
            self.members
                .adjust_profiles(&earlier, &self.context, &mut self.out);
            self.review_constants();
            if self.context.is_up() && !self.is_shutting_down() {
                // The giver would mistake the PING for the answer to its offer, so the acknowledgement comes first.
                self.acknowledge();
                self.broadcast(Content::Ping);
            }
        }
    }
}
