//! What keeps a large ring from speaking all at once (`docs/protocol.md`, "Large rings"). In a ring
//! of nine or fewer nobody is held back by any of it.

use std::time::Duration;

use ring_codec::MacAddr;

use super::Members;
use crate::lab2::machine::Context;

/// So many members, those that follow in ring order, answer a question; and so many of the first in
/// order, beside the very first, wait for no turn.
const FOLLOWERS: usize = 8;
/// The largest ring in which everybody asks the holder for its table, and is told it.
const SMALL: usize = FOLLOWERS + 1;
/// A member that was not heard, but is in somebody's table, counts as one of these for so many
/// WAITER_TIMEOUTs.
const NEWS: u32 = 4;

impl Members {
    /// Whether the ring is too large for each member to be told the table by itself.
    pub(crate) fn is_large(&self) -> bool {
        self.len() > SMALL
    }

    /// The longest that anybody waits for a turn.
    pub(crate) fn longest_turn(context: &Context) -> Duration {
        context.constants().heartbeat / 4
    }

    /// How long this node holds back what others may be about to say as well: the longer the more
    /// members come before it. What it hears meanwhile it need not say.
    pub(crate) fn turn(&self, context: &Context) -> Duration {
        let behind = self.table.rank(context.me()).saturating_sub(FOLLOWERS);
        let members = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        let slot = Self::longest_turn(context) / members.max(1);
        slot.min(context.constants().heartbeat / 100) * behind
    }

    /// Whether this node is one of those that follow a member in ring order, not counting such as are
    /// silent. A table may tell of hundreds that are gone: they do not count for as long.
    pub(crate) fn is_follower(&mut self, context: &Context, mac: MacAddr) -> bool {
        let (me, now) = (context.me(), context.now());
        let since = now.before(self.silence(context));
        let told = now.before(context.waiter_timeout() * NEWS);
        self.table.follows(mac, me, FOLLOWERS, (since, told))
    }
}
