//! Reports of members that become silent or are heard again, and of a missing quorum.

use ring_codec::MacAddr;

use super::{Diagnostics, report_change};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::{Members, Peer};
use crate::lab2::{Diagnostic, Event, SilentMembers};
use crate::time::Instant;

/// Number of searches for silent members within the time after which a member counts as silent.
const SEARCHES_PER_SILENCE: u32 = 64;
/// A divisor of the time after which a member counts as silent. The quotient is a time. If more than this time has
/// passed since the last search, the node was stalled, and cannot know which members were silent.
const STALL_DIVISOR: u32 = 8;
/// If at most this number of members become silent at about the same time, the reports name each of them.
const NAMED_MAX: usize = 4;

/// The times of searches for silent members, and the results that were reported.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct SilenceReports {
    last: Option<Instant>,
    next: Option<Instant>,
    /// Time since which this node has run without being stalled.
    running_since: Option<Instant>,
    /// Members that were last heard before this time are silent. The time never goes back. In a larger ring, a member
    /// must be silent for longer before it counts as silent. But when the ring grows, the members that were reported as
    /// silent must not count as heard again.
    alive: Instant,
    /// Members that this node has never heard, and that other members report as silent. The list is sorted by MAC. The
    /// list contains no members that have left, because no reports name such members.
    reported: Vec<MacAddr>,
    /// The problem of a missing quorum, if it was reported.
    no_quorum: Option<Diagnostic>,
}

impl SilenceReports {
    pub(super) const fn no_quorum(&self) -> Option<Diagnostic> {
        self.no_quorum
    }

    /// Forgets the reports. If the node reported a missing quorum, returns this problem, because it ends now. Call this
    /// function when the link went down.
    pub(super) fn reset(&mut self) -> Option<Diagnostic> {
        self.reported.clear();
        self.no_quorum.take()
    }

    /// Whether a member is missing. A member is missing if this node has not heard it since `alive`, and the member has
    /// not left.
    fn is_missing(&self, mac: MacAddr, peer: &Peer, alive: Instant) -> bool {
        // The member may have left before this node was started. So a member that this node has never heard is missing
        // only if another member reports it.
        let is_known = peer.was_heard() || self.reported.binary_search(&mac).is_ok();
        is_known && !peer.has_left() && peer.silent_since() < alive
    }
}

/// The members that changed in the same way: all became silent, or all are heard again. If there are many such members,
/// the report names only one of them.
#[derive(Default)]
struct MemberChanges {
    named: [(MacAddr, Instant); NAMED_MAX],
    count: usize,
}

impl MemberChanges {
    fn add(&mut self, mac: MacAddr, seen: Instant) {
        if let Some(place) = self.named.get_mut(self.count) {
            *place = (mac, seen);
        }
        self.count += 1;
    }

    /// Returns the members that the report names. Returns each member with the time of its change, and the number of
    /// members that the report does not name.
    fn reports(&self) -> impl Iterator<Item = (MacAddr, Instant, usize)> {
        // When a switch fails, hundreds of members become silent at once. One line is then enough.
        let named = if self.count > NAMED_MAX {
            1
        } else {
            self.count
        };
        let others = self.count - named;
        let named = self.named.iter().take(named);
        named.map(move |&(mac, seen)| (mac, seen, others))
    }
}

impl Diagnostics {
    /// Searches periodically for changes that no input shows: for example, a member became silent. Returns whether a
    /// search was due.
    pub(crate) fn review_periodically(
        &mut self,
        context: &Context,
        members: &mut Members,
        owner: Option<MacAddr>,
        out: &mut Output,
    ) -> bool {
        if self
            .silence_reports
            .next
            .is_some_and(|next| context.now() < next)
        {
            return false;
        }
        self.report_silent_members(context, members, out);
        self.forget_reach(context, members, out);
        self.compare_mtu(context, members, out);
        self.review_one_way(context, members, out);
        self.review_preferred(context, members, owner, out);
        true
    }

    /// Reports members that have become silent or are heard again. If many members change at the same time, they share
    /// one report.
    fn report_silent_members(
        &mut self,
        context: &Context,
        members: &mut Members,
        out: &mut Output,
    ) {
        let silence_reports = &mut self.silence_reports;
        let (now, silence) = (context.now(), members.silent_after(context));
        let gap = silence_reports.last.map(|last| now.since(last));
        silence_reports.last = Some(now);
        silence_reports.next = Some(now + silence / SEARCHES_PER_SILENCE);
        // A stalled process has not heard the members, so it must not report them as silent.
        if gap.is_none_or(|gap| gap >= silence / STALL_DIVISOR) {
            silence_reports.running_since = Some(now);
        }
        // This node could not hear any member while its link was down.
        let attends = silence_reports.running_since.max(context.up_since());
        let knows = context.is_up() && attends.is_some_and(|at| now.since(at) >= silence);
        silence_reports.alive = silence_reports.alive.max(now.before(silence));
        // The removed entries are members that this node has heard in the meantime, members that have left, and members
        // that were forgotten.
        silence_reports
            .reported
            .retain(|&mac| is_only_named(members, mac));
        let (mut silent, mut back) = (MemberChanges::default(), MemberChanges::default());
        members.review_told_silent(context, |mac, peer| {
            let is_silent = silence_reports.is_missing(mac, peer, silence_reports.alive);
            // A member that seems silent stays unreported until this node has listened for long enough.
            if is_silent == peer.is_told_silent() || is_silent && !knows {
                return peer.is_told_silent();
            }
            if is_silent {
                silent.add(mac, peer.silent_since());
            // A member that has left was reported as leaving, so it does not count as heard again.
            } else if !peer.has_left() {
                back.add(mac, peer.silent_since());
            }
            is_silent
        });
        for (mac, seen, others) in silent.reports() {
            let quiet = now.since(seen);
            out.event(Event::MemberSilent { mac, quiet, others });
        }
        for (mac, _, others) in back.reports() {
            out.event(Event::MemberAlive { mac, others });
        }
        // A node knows that a majority is missing only after it has listened for long enough. A problem that was
        // already reported stays.
        let before = silence_reports.no_quorum;
        let trouble = self.no_quorum_problem(context, members);
        let trouble = trouble.filter(|_| knows || before.is_some());
        self.silence_reports.no_quorum = trouble;
        report_change(out, before, trouble);
    }

    /// Notes that a card from another member names the member `mac` as silent.
    pub(super) fn note_reported(&mut self, members: &Members, mac: MacAddr) {
        let reported = &mut self.silence_reports.reported;
        if is_only_named(members, mac)
            && let Err(at) = reported.binary_search(&mac)
        {
            reported.insert(at, mac);
        }
    }

    /// If fewer members are present than a quorum needs, returns the problem of a missing quorum. Otherwise returns
    /// `None`.
    fn no_quorum_problem(&self, context: &Context, members: &Members) -> Option<Diagnostic> {
        let expected = members.expected_size(context).unwrap_or(0);
        let ring = members.ring_size(context);
        let silent: SilentMembers = self.silent_members(context, members).collect();
        let present = members.present_members(context);
        // If no member expects a number, a ring whose members have left on purpose is not a problem.
        let is_missing = expected > 0 || silent.count() > 0;
        (is_missing && present < ring / 2 + 1).then_some(Diagnostic::NoQuorum {
            present,
            ring,
            expected,
            silent,
        })
    }

    /// Returns the silent members in the order of the table, without this node. If a member was never heard, its
    /// silence is measured from the first table that listed the member.
    pub(crate) fn silent_members(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = MacAddr> {
        let alive = context.now().before(members.silent_after(context));
        let others = members.others(context);
        let silent =
            others.filter(move |(mac, peer)| self.silence_reports.is_missing(*mac, peer, alive));
        silent.map(|(mac, _)| mac)
    }
}

/// Whether this node knows a member only from tables. Returns `false` for a member that left.
fn is_only_named(members: &Members, mac: MacAddr) -> bool {
    let peer = members.peer(mac);
    peer.is_some_and(|peer| !peer.was_heard() && !peer.has_left())
}
