//! The choice of the successor: members in ring order, beginning after the last one that was offered the token.

use std::ops::Range;

use ring_codec::MacAddr;

use super::Members;
use super::peer::Peer;
use super::table::Table;
use crate::lab2::machine::Context;
use crate::time::Instant;

impl Members {
    /// Returns the member that is offered the token after `last`: `passed_over`, or else the next one that wants the
    /// token, or else the next eligible one.
    pub(crate) fn next_successor(
        &mut self,
        context: &Context,
        last: MacAddr,
        passed_over: Option<MacAddr>,
    ) -> Option<MacAddr> {
        passed_over
            .or_else(|| self.next_wanting(context, last))
            .or_else(|| self.next_eligible(context, last))
    }

    /// Returns whether a member after `last` wants the token.
    pub(crate) fn has_wanting_after(&mut self, context: &Context, last: MacAddr) -> bool {
        self.next_wanting(context, last).is_some()
    }

    /// Returns a member between `giver` and this node in ring order that has wanted the token for a whole rotation.
    pub(crate) fn find_passed_over(
        &mut self,
        context: &Context,
        giver: MacAddr,
    ) -> Option<MacAddr> {
        // The giver does not hear it. Otherwise it would have had its turn before this node.
        self.find_wanting(context, giver, |mac, peer| peer.overdue && mac != giver)
    }

    /// Returns the next eligible member after `last` that wants the token.
    fn next_wanting(&mut self, context: &Context, last: MacAddr) -> Option<MacAddr> {
        self.find_wanting(context, last, |_, _| true)
    }

    fn find_wanting(
        &mut self,
        context: &Context,
        last: MacAddr,
        matches: impl Fn(MacAddr, &Peer) -> bool,
    ) -> Option<MacAddr> {
        if !self.has_wanting() {
            return None;
        }
        let since = self.eligible_since(context);
        let table = &mut self.table;
        let mut places = table.places_between(last, context.me());
        let found = places.find(|place| {
            let at = place % table.len();
            let (mac, peer) = (table.members[at].mac, &table.peers[at]);
            peer.wants && peer.is_eligible(since) && matches(mac, peer)
        });
        found.map(|place| table.members[place % table.len()].mac)
    }

    /// Returns the next eligible member after `last`. Penalized members on the way have one turn less to wait.
    fn next_eligible(&mut self, context: &Context, last: MacAddr) -> Option<MacAddr> {
        let since = self.eligible_since(context);
        let table = &mut self.table;
        for place in table.places_between(last, context.me()) {
            let at = place % table.len();
            let peer = &mut table.peers[at];
            // `pass_over` counts down the penalty, so it must come last.
            if peer.may_own() && peer.was_heard_since(since) && !peer.penalty.take_skip() {
                return Some(table.members[at].mac);
            }
        }
        None
    }

    /// Whether a member may be offered the token now.
    pub(crate) fn is_eligible(&self, context: &Context, mac: MacAddr) -> bool {
        self.peer(mac)
            .is_some_and(|peer| peer.is_eligible(self.eligible_since(context)))
    }

    /// Whether a member wants the token, including penalized ones.
    pub(crate) fn has_wanting(&self) -> bool {
        self.table.wanting > 0
    }

    /// Whether an eligible other member wants the token.
    pub(crate) fn is_wanted(&self, context: &Context) -> bool {
        let since = self.eligible_since(context);
        self.has_wanting()
            && self
                .others(context)
                .any(|(_, peer)| peer.wants && peer.is_eligible(since))
    }

    /// Whether handovers have failed at every other member that was heard since then and may own, and there is one.
    pub(crate) fn have_all_failed(&self, context: &Context, since: Instant) -> bool {
        let others = self.others(context);
        let mut able = others.filter(|(_, peer)| peer.may_own() && peer.was_heard_since(since));
        able.clone().next().is_some() && able.all(|(_, peer)| peer.penalty.failures() > 0)
    }
}

impl Table {
    /// Returns the places of the members after `last` and before `me` in ring order. Places beyond the end of the table
    /// continue from its start.
    pub(super) fn places_between(&mut self, last: MacAddr, me: MacAddr) -> Range<usize> {
        self.sort();
        let len = self.members.len();
        let after = self.members.partition_point(|member| member.mac <= last);
        let until = self.rank(me);
        let count = (until + len - after) % len.max(1);
        after..after + count
    }
}
