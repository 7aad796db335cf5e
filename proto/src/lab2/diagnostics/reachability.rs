//! Reports broadcasts and long frames that do not reach this node or other members.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, PROMISE_LEN, Profile};

use super::{Diagnostics, Statement, end_statements, is_recent, note_statement, report};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Diagnostic, Event};
use crate::time::Instant;

/// If broadcasts reach a node that owns no token, the node hears a heartbeat within this number of WAITER_TIMEOUTs. The
/// time in which this node is OWNER does not count, because this node may then have sent all heartbeats itself.
const UNREACHED_TIMEOUTS: u32 = 4;
/// If no frame arrives for a certain time, earlier frames do not count. This time is the time after which a node is
/// deaf, multiplied by this factor.
const GAP_FACTOR: u32 = 2;

/// Observations. Each observation has a flag that shows whether it was reported.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Reachability {
    /// The unicast frames that arrived since the last broadcast frame.
    unicast_only: Option<UnicastOnly>,
    /// Whether this node is OWNER.
    owns: bool,
    /// Members that announce that no broadcasts reach them.
    unreached: Vec<Statement>,
    /// The last time at which the interface refused a heartbeat or a PING as too long. The frame had no data that could
    /// be omitted.
    refused: Option<Instant>,
    /// The problem of a small MTU, if it was reported.
    small_mtu: Option<Diagnostic>,
    /// The kinds of frames that were too long for the interface. Each kind has the time of its last report.
    too_long: Vec<(Kind, Instant)>,
}

/// The unicast frames that arrived since the last broadcast frame.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct UnicastOnly {
    first: Instant,
    last: Instant,
    /// The last time at which this node was OWNER. If this node was not OWNER after `first`, this time is `first`.
    owned: Instant,
    reported: bool,
}

impl Reachability {
    /// Returns all reported problems that still exist.
    pub(super) fn problems(&self) -> impl Iterator<Item = Diagnostic> {
        let unicast_only = self
            .unicast_only
            .filter(|unicast_only| unicast_only.reported);
        let unicast_only = unicast_only.map(|_| Diagnostic::BroadcastsUnheard);
        let unreached = self.unreached.iter().filter(|statement| statement.reported);
        let unreached =
            unreached.map(|statement| Diagnostic::MemberUnreached { mac: statement.mac });
        unicast_only
            .into_iter()
            .chain(unreached)
            .chain(self.small_mtu)
    }

    /// Ends the problems of members that were removed or left.
    pub(super) fn end_for(&mut self, out: &mut Output, gone: &[MacAddr]) {
        for mac in end_statements(&mut self.unreached, gone) {
            report(out, Diagnostic::MemberUnreached { mac }, true);
        }
    }
}

impl Diagnostics {
    /// Returns the present problems of reachability.
    pub(super) fn reachability_problems(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = Diagnostic> {
        self.reachability
            .problems()
            // The last statement of a silent member may no longer be true.
            .filter(move |trouble| match trouble {
                Diagnostic::MemberUnreached { mac } => {
                    !members.is_gone(context, *mac, members.silent_after(context))
                }
                _ => true,
            })
    }

    /// Whether only unicast frames have reached this node for a long time.
    pub(crate) fn hears_no_broadcasts(&self) -> bool {
        self.reachability
            .unicast_only
            .is_some_and(|unicast_only| unicast_only.reported)
    }

    pub(crate) fn note_state(&mut self, context: &Context, owns: bool) {
        let before = std::mem::replace(&mut self.reachability.owns, owns);
        // The time counts from the end of a tenure: only then does this node wait for heartbeats of others.
        if let Some(unicast_only) = self.reachability.unicast_only.as_mut().filter(|_| before) {
            unicast_only.owned = context.now();
        }
    }

    /// Handles a received frame. The frame shows whether broadcasts reach this node, and whether broadcasts reach the
    /// author of the frame.
    pub(crate) fn note_reach(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        (envelope, profile): (Envelope, Option<&Profile>),
    ) {
        if envelope.broadcast {
            self.end_unicast_only(out);
        } else {
            self.note_unicast(context, members, out);
        }
        let mac = envelope.from;
        // A frame without a profile makes no statement, so it does not end an earlier statement.
        let Some(profile) = profile.filter(|_| members.has(mac)) else {
            return;
        };
        let (unreached, at_once) = (profile.is_unreached(), (context.now(), Duration::ZERO));
        if note_statement(&mut self.reachability.unreached, mac, unreached, at_once) {
            report(out, Diagnostic::MemberUnreached { mac }, !unreached);
        }
    }

    fn end_unicast_only(&mut self, out: &mut Output) {
        if self
            .reachability
            .unicast_only
            .take()
            .is_some_and(|unicast_only| unicast_only.reported)
        {
            report(out, Diagnostic::BroadcastsUnheard, true);
        }
    }

    /// If no frame arrived for a long time, forgets the unicast frames, because silence proves nothing about
    /// broadcasts.
    pub(super) fn forget_reach(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let (now, silence) = (context.now(), members.silent_after(context));
        let unicast_only = self.reachability.unicast_only;
        if unicast_only.is_some_and(|unicast_only| now.since(unicast_only.last) >= silence) {
            self.end_unicast_only(out);
        }
    }

    /// Handles a unicast frame. The frame shows that other members exist. Each member sends a broadcast within a known
    /// time, and an OWNER broadcasts each heartbeat.
    fn note_unicast(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let now = context.now();
        let begun = UnicastOnly {
            first: now,
            last: now,
            owned: now,
            reported: false,
        };
        let unicast_only = self.reachability.unicast_only.get_or_insert(begun);
        if !unicast_only.reported
            && now.since(unicast_only.last) > context.deaf_after() * GAP_FACTOR
        {
            // During a pause without frames this node may have been cut off from all members.
            *unicast_only = begun;
        }
        unicast_only.last = now;
        if unicast_only.reported {
            return;
        }
        // While this node is OWNER, it sends the heartbeats itself, and hears no heartbeats of other members.
        let others_own = if self.reachability.owns {
            Duration::ZERO
        } else {
            now.since(unicast_only.owned)
        };
        // The owner may be the slowest member of the ring, and then its heartbeats are the rarest.
        let longest = members.longest_waiter_timeout(context);
        let slowest = longest / context.constants().waiter_intervals;
        let silence = members
            .silent_after(context)
            .max(Members::silent_after_in_small_ring(slowest));
        if others_own >= longest * UNREACHED_TIMEOUTS || now.since(unicast_only.first) >= silence {
            unicast_only.reported = true;
            report(out, Diagnostic::BroadcastsUnheard, false);
        }
    }

    /// Reports that the interface refused a frame of this kind as too long. Repeats the report for a kind of frame only
    /// after [`RECENT_TIMEOUTS`](super::RECENT_TIMEOUTS).
    pub(crate) fn note_too_long(&mut self, context: &Context, out: &mut Output, kind: Kind) {
        let now = context.now();
        let all = &mut self.reachability.too_long;
        match all.iter_mut().find(|(reported, _)| *reported == kind) {
            Some((_, at)) if is_recent(context, *at) => return,
            Some((_, at)) => *at = now,
            None => all.push((kind, now)),
        }
        let mtu = context.mtu();
        out.event(Event::TooLong { kind, mtu });
    }

    /// Notes that the interface refused a heartbeat or a PING as too long, although no shorter frame was possible.
    pub(crate) fn note_refused(&mut self, context: &Context, members: &Members, out: &mut Output) {
        self.reachability.refused = Some(context.now());
        self.compare_mtu(context, members, out);
    }

    /// Forgets the refused frames. Call this function when the MTU of the interface changes.
    pub(crate) fn note_new_mtu(&mut self) {
        self.reachability.refused = None;
    }

    /// Compares the smallest MTU with the length of a PING that contains a promise. Reports when the MTU becomes too
    /// small, and when it is large enough again.
    pub(super) fn compare_mtu(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let before = self.reachability.small_mtu;
        let refused = self.reachability.refused;
        let refused = refused.is_some_and(|at| is_recent(context, at));
        // The interface's refusal is stronger evidence than the announced MTUs.
        let (mtu, member) = if refused {
            (context.mtu(), None)
        } else {
            members.smallest_mtu(context)
        };
        // A member whose promise does not fit cannot confirm a tenure, so the ring may have no quorum.
        let needed = PROMISE_LEN;
        // Without a link, the MTU affects no member.
        let is_small = context.is_up() && (refused || mtu < needed);
        let small_mtu = is_small.then_some(Diagnostic::MtuTooSmall {
            mtu,
            needed,
            member,
        });
        self.reachability.small_mtu = small_mtu;
        match (before, small_mtu) {
            // A different member or MTU is reported too, because a reported machine must not hide the next machine with
            // a small MTU.
            (before, Some(trouble)) if before != small_mtu => report(out, trouble, false),
            (Some(trouble), None) => report(out, trouble, true),
            _ => {}
        }
    }
}
