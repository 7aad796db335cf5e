//! Whose turn it is: members in ring order, from the one after the last owner on.

use std::ops::Range;

use ring_codec::MacAddr;

use super::Members;
use super::peer::Peer;
use super::table::Table;
use crate::lab2::machine::Context;
use crate::time::Instant;

impl Members {
    /// The member that is offered the token after `last`: this one if its turn has come before, else the next that
    /// wants it, else the next.
    pub(crate) fn next_after(
        &mut self,
        context: &Context,
        last: MacAddr,
        ahead: Option<MacAddr>,
    ) -> Option<MacAddr> {
        let (me, alive) = (context.me(), self.alive_since(context));
        ahead
            .or_else(|| self.table.next_wanting(last, me, alive))
            .or_else(|| self.table.next_eligible(last, me, alive))
    }

    /// Whether a member that comes after `last` wants the token.
    pub(crate) fn is_wanted_after(&mut self, context: &Context, last: MacAddr) -> bool {
        let (me, alive) = (context.me(), self.alive_since(context));
        self.table.next_wanting(last, me, alive).is_some()
    }

    /// The member that `giver` has passed over with the token, since it does not hear it.
    pub(crate) fn passed_over(&mut self, context: &Context, giver: MacAddr) -> Option<MacAddr> {
        let (me, alive) = (context.me(), self.alive_since(context));
        self.table.passed_over(giver, me, alive)
    }

    /// Whether the token may be offered to a member now.
    pub(crate) fn is_eligible(&self, context: &Context, mac: MacAddr) -> bool {
        self.peer(mac)
            .is_some_and(|peer| peer.is_eligible(self.alive_since(context)))
    }

    /// Whether a member wants the token, be it passed over.
    pub(crate) fn has_wanting(&self) -> bool {
        self.table.wanting > 0
    }

    /// Whether another member wants the token that is not passed over.
    pub(crate) fn is_wanted(&self, context: &Context) -> bool {
        self.has_wanting()
            && (self.table).is_wanted_by_others(context.me(), self.alive_since(context))
    }

    /// Whether hand-overs have failed at all members that were heard since then, and could own.
    pub(crate) fn has_failed_at_all(&self, context: &Context, since: Instant) -> bool {
        self.table.has_failed_at_all(context.me(), since)
    }
}

impl Table {
    /// The next eligible member in ring order after `last` and before `me`, of those heard at `since` or
    /// later; those passed over on the way have a turn less to wait.
    pub(super) fn next_eligible(
        &mut self,
        last: MacAddr,
        me: MacAddr,
        since: Instant,
    ) -> Option<MacAddr> {
        for turn in self.turns(last, me) {
            let at = turn % self.len();
            let peer = &mut self.peers[at];
            let may = !peer.paused && !peer.deaf && peer.was_heard_since(since);
            if may && !peer.penalty.pass_over() {
                return Some(self.members[at].mac);
            }
        }
        None
    }

    /// The next wanting member in ring order after `last` and before `me`, of those heard at `since` or
    /// later.
    pub(super) fn next_wanting(
        &mut self,
        last: MacAddr,
        me: MacAddr,
        since: Instant,
    ) -> Option<MacAddr> {
        if self.wanting == 0 {
            return None;
        }
        self.turns(last, me)
            .map(|at| at % self.len())
            .find(|&at| self.peers[at].wants && self.peers[at].is_eligible(since))
            .map(|at| self.members[at].mac)
    }

    /// A member between `giver` and `me` in ring order that wants the token, and has for a round: the giver does
    /// not hear it, or it would have had its turn before `me`.
    pub(super) fn passed_over(
        &mut self,
        giver: MacAddr,
        me: MacAddr,
        since: Instant,
    ) -> Option<MacAddr> {
        if self.wanting == 0 {
            return None;
        }
        let may = |peer: &Peer| peer.wants && peer.overdue && peer.is_eligible(since);
        self.turns(giver, me)
            .map(|at| at % self.len())
            .find(|&at| may(&self.peers[at]) && self.members[at].mac != giver)
            .map(|at| self.members[at].mac)
    }

    /// Whether `me` is one of the `count` members that follow `mac` in ring order, of those that were
    /// heard at `since` or later, or first heard of at `told` or later.
    pub(super) fn follows(
        &mut self,
        mac: MacAddr,
        me: MacAddr,
        count: usize,
        (since, told): (Instant, Instant),
    ) -> bool {
        let turns = self.turns(mac, me);
        let len = self.len().max(1);
        let is_there = |&turn: &usize| {
            let peer = &self.peers[turn % len];
            let latest = if peer.heard { since } else { told };
            !peer.left && peer.silent_since() >= latest
        };
        turns.filter(is_there).take(count).count() < count
    }

    /// Whether a member that is not passed over wants the token; never the node itself.
    pub(super) fn is_wanted_by_others(&self, me: MacAddr, since: Instant) -> bool {
        let mut peers = self.peers.iter().zip(&self.members);
        peers.any(|(peer, member)| peer.wants && peer.is_eligible(since) && member.mac != me)
    }

    /// Whether hand-overs have failed at all members that were heard since then, and could own: at one at
    /// least.
    pub(super) fn has_failed_at_all(&self, me: MacAddr, since: Instant) -> bool {
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

    /// The places of the members whose turn it is after `last`, up to `me`, in ring order; beyond
    /// the end of the table they go on from its start.
    fn turns(&mut self, last: MacAddr, me: MacAddr) -> Range<usize> {
        self.sort();
        let len = self.members.len();
        let after = self.members.partition_point(|member| member.mac <= last);
        let until = self.rank(me);
        let count = (until + len - after) % len.max(1);
        after..after + count
    }
}
