//! Reports of members that fall silent or are heard again, and of a missing quorum.

use ring_codec::MacAddr;

use super::{Diagnostics, report_change};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::{Members, Peer};
use crate::lab2::{Diagnostic, Event, SilentMembers};
use crate::time::Instant;

/// How often silent members are searched for in the time after which a member counts as silent.
const SEARCHES_PER_SILENCE: u32 = 64;
/// A node that has not searched for this fraction of that time did not run, and cannot know which members were silent.
const STALL_DIVISOR: u32 = 8;
/// Up to this number, members that fall silent at about the same time are named one by one.
const NAMED_MAX: usize = 4;

/// Times of the searches, and their results.
#[derive(Debug, Clone, Default)]
pub(super) struct SilenceReports {
    last: Option<Instant>,
    next: Option<Instant>,
    /// Since when this node has run without being stalled.
    running_since: Option<Instant>,
    /// Members that were last heard before this time are silent. It never goes back: a ring that grows gives its
    /// members more time, but that does not revive members that were reported as silent.
    alive: Instant,
    /// Members that this node has never heard, and that others report as silent, sorted by MAC. Members that have left
    /// are reported by none.
    reported: Vec<MacAddr>,
    /// The reported lack of a quorum.
    no_quorum: Option<Diagnostic>,
}

impl SilenceReports {
    pub(super) const fn no_quorum(&self) -> Option<Diagnostic> {
        self.no_quorum
    }

    /// Starts over, because the link went down. Returns the problem that ends with it.
    pub(super) fn reset(&mut self) -> Option<Diagnostic> {
        self.reported.clear();
        self.no_quorum.take()
    }

    /// Whether a member is missing: it was not heard since `alive`, and has not left.
    fn is_missing(&self, mac: MacAddr, peer: &Peer, alive: Instant) -> bool {
        // This node may have been started after the member left. So a member that it has never heard is missing only if
        // another member reports it.
        let is_known = peer.was_heard() || self.reported.binary_search(&mac).is_ok();
        is_known && !peer.has_left() && peer.silent_since() < alive
    }
}

/// Members with the same change. Only the first ones are named.
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

    /// Returns the members to name, each with the number of others that are not named.
    fn reported(&self) -> impl Iterator<Item = (MacAddr, Instant, usize)> {
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
    /// Looks from time to time for changes without an input, such as silent members. Returns whether it was time.
    pub(crate) fn review_periodically(
        &mut self,
        context: &Context,
        members: &mut Members,
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
        true
    }

    /// Reports members that have fallen silent or are heard again. Many at once share one report.
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
        // A stalled process has not heard the members, and must not report them.
        if gap.is_none_or(|gap| gap >= silence / STALL_DIVISOR) {
            silence_reports.running_since = Some(now);
        }
        let attends = silence_reports.running_since.max(context.up_since());
        let knows = context.is_up() && attends.is_some_and(|at| now.since(at) >= silence);
        silence_reports.alive = silence_reports.alive.max(now.before(silence));
        // The others were heard meanwhile, or were forgotten.
        silence_reports
            .reported
            .retain(|&mac| is_only_named(members, mac));
        let (mut silent, mut back) = (MemberChanges::default(), MemberChanges::default());
        members.review_told_silent(context, |mac, peer| {
            let is_silent = silence_reports.is_missing(mac, peer, silence_reports.alive);
            if is_silent == peer.is_told_silent() || is_silent && !knows {
                return peer.is_told_silent();
            }
            if is_silent {
                silent.add(mac, peer.silent_since());
            } else if !peer.has_left() {
                back.add(mac, peer.silent_since());
            }
            is_silent
        });
        for (mac, seen, others) in silent.reported() {
            let quiet = now.since(seen);
            out.event(Event::MemberSilent { mac, quiet, others });
        }
        for (mac, _, others) in back.reported() {
            out.event(Event::MemberAlive { mac, others });
        }
        // A node knows that a majority is missing only after it has listened for long enough.
        let before = silence_reports.no_quorum;
        let trouble = self.no_quorum_problem(context, members);
        let trouble = trouble.filter(|_| knows || before.is_some());
        self.silence_reports.no_quorum = trouble;
        report_change(out, before, trouble);
    }

    /// Notes a member that another member's card names as silent.
    pub(super) fn note_reported(&mut self, members: &Members, mac: MacAddr) {
        let reported = &mut self.silence_reports.reported;
        if is_only_named(members, mac)
            && let Err(at) = reported.binary_search(&mac)
        {
            reported.insert(at, mac);
        }
    }

    /// Returns the lack of a quorum, if fewer members are present than a quorum needs.
    fn no_quorum_problem(&self, context: &Context, members: &Members) -> Option<Diagnostic> {
        let expected = members.expected(context).unwrap_or(0);
        let ring = members.ring_size(context);
        let silent: SilentMembers = self.silent_members(context, members).collect();
        let present = members.present_members(context);
        // If no member expects a number, members that have left on purpose are not missing.
        let is_missing = expected > 0 || silent.count() > 0;
        (is_missing && present < ring / 2 + 1).then_some(Diagnostic::NoQuorum {
            present,
            ring,
            expected,
            silent,
        })
    }

    /// Returns the silent members, without this node, in the order of the table. For a member that was never heard, the
    /// time counts from the first table that listed it.
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

/// Whether only tables have named a member, and it has not left.
fn is_only_named(members: &Members, mac: MacAddr) -> bool {
    let peer = members.peer(mac);
    peer.is_some_and(|peer| !peer.was_heard() && !peer.has_left())
}
