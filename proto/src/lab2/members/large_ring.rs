//! Rules for large rings. With these rules, not all members answer at the same time
//! (`docs/reference/lab2/large-rings.md N1` and N3). The rules do not delay a ring of nine or fewer members.

use std::time::Duration;

use ring_codec::MacAddr;

use super::Members;
use crate::lab2::machine::Context;

/// Maximum number of members that answer a question: the members that follow the asker in ring order. In the order of
/// MAC addresses, the first member and the next `FOLLOWERS_MAX` members send their frames without a delay.
const FOLLOWERS_MAX: usize = 8;
/// The number of members of the largest ring that counts as small. In a small ring, each member asks the holder for its
/// table, and the holder sends the table to this member.
const SMALL_RING_MAX: usize = FOLLOWERS_MAX + 1;
/// If only a table named a member, the member counts as a follower for this number of WAITER_TIMEOUTs.
const HEARSAY_TIMEOUTS: u32 = 4;

impl Members {
    /// Whether the ring is too large to send the table to each member separately.
    pub(crate) fn is_large(&self) -> bool {
        self.len() > SMALL_RING_MAX
    }

    /// Returns the longest time by which a member delays a frame.
    pub(crate) fn speaking_delay_max(context: &Context) -> Duration {
        context.constants().heartbeat / 4
    }

    /// Returns the time by which this node delays a frame if other members may be about to send the same frame. The
    /// delay is longer if more members come before this node. If this node hears such a frame from another member
    /// during the delay, it need not send its own frame.
    pub(crate) fn speaking_delay(&self, context: &Context) -> Duration {
        // The first nine members have no delay, so small rings and most elections are not slower.
        let behind = self.table.rank(context.me()).saturating_sub(FOLLOWERS_MAX);
        let members = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        // All members must get their turn within a quarter of HEART_BEAT_PERIOD.
        let slot = Self::speaking_delay_max(context) / members.max(1);
        slot.min(context.constants().heartbeat / 100) * behind
    }

    /// Whether this node must answer `mac`, because it is one of the members that follow `mac` in ring order. Silent
    /// members do not count.
    pub(crate) fn counts_as_follower(&mut self, context: &Context, mac: MacAddr) -> bool {
        let now = context.now();
        let since = now.before(self.silent_after(context));
        // A table may name hundreds of dead members. If these members counted for a long time, all followers might be
        // dead, and no member would answer.
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
