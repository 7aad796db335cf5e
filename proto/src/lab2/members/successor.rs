//! The choice of the successor. The candidates are the members in ring order. The first candidate follows the last
//! member to which this node offered the token.

use std::ops::Range;

use ring_codec::MacAddr;

use super::Members;
use super::peer::Peer;
use super::table::Table;
use crate::lab2::machine::Context;
use crate::time::Instant;

impl Members {
    /// Returns the next member to which this node offers the token. If `passed_over` is given, the result is
    /// `passed_over`. Otherwise the result is the next member after `last` that wants the token, or else `preferred`,
    /// or else the next eligible member after `last`.
    pub(crate) fn next_successor(
        &mut self,
        context: &Context,
        last: MacAddr,
        (passed_over, preferred): (Option<MacAddr>, Option<MacAddr>),
    ) -> Option<MacAddr> {
        passed_over
            .or_else(|| self.next_wanting(context, last))
            .or(preferred)
            .or_else(|| self.next_eligible(context, last))
    }

    /// Returns a member that has waited for the token for a whole rotation. In ring order, this member is between
    /// `giver` and this node.
    pub(crate) fn find_passed_over(
        &mut self,
        context: &Context,
        giver: MacAddr,
    ) -> Option<MacAddr> {
        // The giver does not hear this member. If it did, the member would have had its turn before this node.
        self.find_wanting(context, giver, |mac, peer| peer.overdue && mac != giver)
    }

    /// Returns the next eligible member after `last` that wants the token.
    pub(crate) fn next_wanting(&mut self, context: &Context, last: MacAddr) -> Option<MacAddr> {
        self.find_wanting(context, last, |_, _| true)
    }

    fn find_wanting(
        &mut self,
        context: &Context,
        last: MacAddr,
        matches: impl Fn(MacAddr, &Peer) -> bool,
    ) -> Option<MacAddr> {
        // Usually no member wants the token, and then there is no need to search the table.
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

    /// Returns the next eligible member after `last`. If this node passes over members with a penalty, the penalty of
    /// each such member decreases by one turn.
    fn next_eligible(&mut self, context: &Context, last: MacAddr) -> Option<MacAddr> {
        let since = self.eligible_since(context);
        let table = &mut self.table;
        for place in table.places_between(last, context.me()) {
            let at = place % table.len();
            let peer = &mut table.peers[at];
            // `take_skip` counts down the penalty, so it must come last: only a real turn counts.
            if peer.may_own() && peer.was_heard_since(since) && !peer.penalty.take_skip() {
                return Some(table.members[at].mac);
            }
        }
        None
    }

    /// Returns the member that this node would choose for a single offer now. This is the next eligible member that
    /// wants the token, or else `preferred`, or else the next eligible member. Penalties do not change.
    pub(crate) fn likely_successor(
        &self,
        context: &Context,
        preferred: Option<MacAddr>,
    ) -> Option<MacAddr> {
        let (me, since) = (context.me(), self.eligible_since(context));
        let next = |wants: bool| {
            let is_next = |mac: MacAddr, peer: &Peer| {
                mac != me && peer.is_eligible(since) && (peer.wants || !wants)
            };
            let in_order = || self.in_order().map(|(member, peer)| (member.mac, peer));
            let after = in_order().find(|&(mac, peer)| mac > me && is_next(mac, peer));
            let found = after.or_else(|| in_order().find(|&(mac, peer)| is_next(mac, peer)));
            found.map(|(mac, _)| mac)
        };
        let wanting = self.has_wanting().then(|| next(true)).flatten();
        wanting.or(preferred).or_else(|| next(false))
    }

    /// Whether this node may offer the token to a member now.
    pub(crate) fn is_eligible(&self, context: &Context, mac: MacAddr) -> bool {
        self.peer(mac)
            .is_some_and(|peer| peer.is_eligible(self.eligible_since(context)))
    }

    /// Whether at least one member wants the token. Members with a penalty count too.
    pub(crate) fn has_wanting(&self) -> bool {
        self.table.wanting > 0
    }

    /// Whether another member wants the token and is eligible.
    pub(crate) fn is_wanted(&self, context: &Context) -> bool {
        let since = self.eligible_since(context);
        self.has_wanting()
            && self
                .others(context)
                .any(|(_, peer)| peer.wants && peer.is_eligible(since))
    }

    /// Whether handovers to all possible successors have failed. Possible successors are the other members that were
    /// heard at `since` or later and may own the token. Returns false if there are no possible successors.
    pub(crate) fn have_all_failed(&self, context: &Context, since: Instant) -> bool {
        let others = self.others(context);
        let mut able = others.filter(|(_, peer)| peer.may_own() && peer.was_heard_since(since));
        able.clone().next().is_some() && able.all(|(_, peer)| peer.penalty.failures() > 0)
    }
}

impl Table {
    /// Returns the places of the members after `last` and before `me` in ring order. A place can be beyond the end of
    /// the table. The caller takes each place modulo the length of the table, so such places begin at the start of the
    /// table.
    pub(super) fn places_between(&mut self, last: MacAddr, me: MacAddr) -> Range<usize> {
        self.sort();
        let len = self.members.len();
        let after = self.members.partition_point(|member| member.mac <= last);
        let until = self.rank(me);
        // `last` may be this node itself, or a member that was removed.
        let count = (until + len - after) % len.max(1);
        after..after + count
    }
}
