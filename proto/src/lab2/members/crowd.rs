//! What keeps a large ring from speaking all at once (`docs/protocol.md`, "Large rings"). In a ring
//! of nine or fewer nobody is held back by any of it.

use std::time::Duration;

use ring_codec::MacAddr;

use crate::lab2::Lab2;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;

/// So many members, those that follow in ring order, answer a question; and so many of the first in
/// order, beside the very first, wait for no turn.
pub(crate) const FOLLOWERS: usize = 8;
/// A member that was not heard, but is in somebody's table, counts as one of these for so many
/// WAITER_TIMEOUTs.
const NEWS: u32 = 4;

/// So many members answer a heartbeat at the most.
pub(crate) const LISTENERS: usize = 64;

impl Lab2 {
    /// The longest that anybody waits for a turn.
    pub(crate) fn longest_turn(&self) -> Duration {
        self.context.constants().heartbeat / 4
    }

    /// How long this node holds back what others may be about to say as well: the longer the more
    /// members come before it. What it hears meanwhile it need not say.
    pub(crate) fn turn(&self) -> Duration {
        let behind = self.table.rank(self.me()).saturating_sub(FOLLOWERS);
        let members = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        let slot = self.longest_turn() / members.max(1);
        slot.min(self.context.constants().heartbeat / 100) * behind
    }

    /// Whether what a LOOSER's timer is for waits for this node's turn from now on: the timer is set anew.
    pub(crate) fn waits_for_turn(&mut self, timer: Timer) -> bool {
        let turn = self.turn();
        let Role::Looser(search) = &mut self.role else {
            return false;
        };
        if search.in_turn.take() == Some(timer) {
            return false;
        }
        let waits = !turn.is_zero();
        if waits {
            search.in_turn = Some(timer);
            self.timer_in(timer, turn);
        }
        waits
    }

    /// Whether this node is one of those that follow a member in ring order, not counting such as are
    /// silent. A table may tell of hundreds that are gone: they do not count for as long.
    pub(crate) fn is_follower(&mut self, mac: MacAddr) -> bool {
        let (me, now) = (self.me(), self.context.now());
        let since = now.before(self.silence());
        let told = now.before(self.context.constants().waiter_timeout() * NEWS);
        self.table.follows(mac, me, FOLLOWERS, (since, told))
    }

    /// Answers an asker with the strongest token known, if it is for this node to do so.
    pub(crate) fn answer_as_follower(&mut self, asker: MacAddr) {
        if self.is_follower(asker) {
            self.token_was_here(asker);
        }
    }
}
