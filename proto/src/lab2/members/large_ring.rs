//! Rules that keep the members of a large ring from answering all at once (`docs/protocol.md`, "Large rings"). They do
//! not delay a ring of nine or fewer members.

use std::time::Duration;

use ring_codec::MacAddr;

use super::Members;
use crate::lab2::machine::Context;

/// How many members answer a question: those that follow the asker in ring order. The same number of members after the
/// first one in the order of MAC addresses speak without delay.
const FOLLOWERS_MAX: usize = 8;
/// The largest ring in which each member asks the holder for its table, and gets it.
const SMALL_RING_MAX: usize = FOLLOWERS_MAX + 1;
/// For this many WAITER_TIMEOUTs a member that only a table names counts as a follower.
const HEARSAY_TIMEOUTS: u32 = 4;

impl Members {
    /// Whether the ring is too large for each member to be sent the table.
    pub(crate) fn is_large(&self) -> bool {
        self.len() > SMALL_RING_MAX
    }

    /// Returns the longest delay of a member.
    pub(crate) fn speaking_delay_max(context: &Context) -> Duration {
        context.constants().heartbeat / 4
    }

    /// Returns how long this node delays a frame that other members may be about to send as well. The delay grows with
    /// the number of members before it. If it hears such a frame meanwhile, it need not send its own.
    pub(crate) fn speaking_delay(&self, context: &Context) -> Duration {
        let behind = self.table.rank(context.me()).saturating_sub(FOLLOWERS_MAX);
        let members = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        // All members must have had their turn within a quarter of HEART_BEAT_PERIOD.
        let slot = Self::speaking_delay_max(context) / members.max(1);
        slot.min(context.constants().heartbeat / 100) * behind
    }

    /// Whether this node is one of the members that follow a member in ring order. Silent members do not count.
    pub(crate) fn is_follower(&mut self, context: &Context, mac: MacAddr) -> bool {
        let now = context.now();
        let since = now.before(self.silent_after(context));
        // A table may name hundreds of dead members. If they counted for long, nobody might answer.
        let named_since = now.before(context.waiter_timeout() * HEARSAY_TIMEOUTS);
        let table = &mut self.table;
        let places = table.places_between(mac, context.me());
        let is_there = |&place: &usize| {
            let peer = &table.peers[place % table.len()];
            let latest = if peer.heard { since } else { named_since };
            !peer.left && peer.silent_since() >= latest
        };
        places.filter(is_there).take(FOLLOWERS_MAX).count() < FOLLOWERS_MAX
    }
}
