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
        let (me, alive) = (context.me(), self.eligible_since(context));
        passed_over
            .or_else(|| self.table.next_wanting(last, me, alive))
            .or_else(|| self.table.next_eligible(last, me, alive))
    }

    /// Returns whether a member after `last` wants the token.
    pub(crate) fn has_wanting_after(&mut self, context: &Context, last: MacAddr) -> bool {
        let (me, alive) = (context.me(), self.eligible_since(context));
        self.table.next_wanting(last, me, alive).is_some()
    }

    /// Returns a member that `giver` has passed over because it does not hear it.
    pub(crate) fn find_passed_over(
        &mut self,
        context: &Context,
        giver: MacAddr,
    ) -> Option<MacAddr> {
        let (me, alive) = (context.me(), self.eligible_since(context));
        self.table.find_passed_over(giver, me, alive)
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
        self.has_wanting()
            && (self.table).is_wanted_by_others(context.me(), self.eligible_since(context))
    }

    /// Whether handovers have failed at every member that was heard since then and may own.
    pub(crate) fn have_all_failed(&self, context: &Context, since: Instant) -> bool {
        self.table.have_all_failed(context.me(), since)
    }
}

impl Table {
    /// Returns the next eligible member in ring order after `last` and before `me`, heard at `since` or later.
    /// Penalized members on the way have one turn less to wait.
    pub(super) fn next_eligible(
        &mut self,
        last: MacAddr,
        me: MacAddr,
        since: Instant,
    ) -> Option<MacAddr> {
        for turn in self.places_between(last, me) {
            let at = turn % self.len();
            let peer = &mut self.peers[at];
            let may = !peer.paused && !peer.deaf && peer.was_heard_since(since);
            if may && !peer.penalty.pass_over() {
                return Some(self.members[at].mac);
            }
        }
        None
    }

    /// Returns the next member in ring order after `last` and before `me` that wants the token and was heard at `since`
    /// or later.
    pub(super) fn next_wanting(
        &mut self,
        last: MacAddr,
        me: MacAddr,
        since: Instant,
    ) -> Option<MacAddr> {
        if self.wanting == 0 {
            return None;
        }
        self.places_between(last, me)
            .map(|at| at % self.len())
            .find(|&at| self.peers[at].wants && self.peers[at].is_eligible(since))
            .map(|at| self.members[at].mac)
    }

    /// Returns a member between `giver` and `me` in ring order that has wanted the token for a whole rotation.
    pub(super) fn find_passed_over(
        &mut self,
        giver: MacAddr,
        me: MacAddr,
        since: Instant,
    ) -> Option<MacAddr> {
        // The giver does not hear it. Otherwise it would have had its turn before `me`.
        if self.wanting == 0 {
            return None;
        }
        let may = |peer: &Peer| peer.wants && peer.overdue && peer.is_eligible(since);
        self.places_between(giver, me)
            .map(|at| at % self.len())
            .find(|&at| may(&self.peers[at]) && self.members[at].mac != giver)
            .map(|at| self.members[at].mac)
    }

    /// Returns whether `me` is one of the `count` members that follow `mac` in ring order. Only members count that were
    /// heard at `since` or later, or first named by a table at `told` or later.
    pub(super) fn is_follower(
        &mut self,
        mac: MacAddr,
        me: MacAddr,
        count: usize,
        (since, told): (Instant, Instant),
    ) -> bool {
        let turns = self.places_between(mac, me);
        let len = self.len().max(1);
        let is_there = |&turn: &usize| {
            let peer = &self.peers[turn % len];
            let latest = if peer.heard { since } else { told };
            !peer.left && peer.silent_since() >= latest
        };
        turns.filter(is_there).take(count).count() < count
    }

    /// Whether another eligible member than `me` wants the token.
    pub(super) fn is_wanted_by_others(&self, me: MacAddr, since: Instant) -> bool {
        let mut peers = self.peers.iter().zip(&self.members);
        peers.any(|(peer, member)| peer.wants && peer.is_eligible(since) && member.mac != me)
    }

    /// Whether handovers have failed at every member that was heard since then and may own, and there is one.
    pub(super) fn have_all_failed(&self, me: MacAddr, since: Instant) -> bool {
        let members = self.members.iter().zip(&self.peers);
        let mut could = members.filter(|(member, peer)| {
            member.mac != me && !peer.paused && !peer.deaf && peer.was_heard_since(since)
        });
        let mut some = false;
        let all = could.all(|(_, peer)| {
            some = true;
            peer.penalty.failures() > 0
        });
        all && some
    }

    /// Returns the places of the members after `last` and before `me` in ring order. Places beyond the end of the table
    /// continue from its start.
    fn places_between(&mut self, last: MacAddr, me: MacAddr) -> Range<usize> {
        self.sort();
        let len = self.members.len();
        let after = self.members.partition_point(|member| member.mac <= last);
        let until = self.rank(me);
        let count = (until + len - after) % len.max(1);
        after..after + count
    }
}
