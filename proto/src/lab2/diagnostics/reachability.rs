//! Reports of frames that do not get through between this node and the others: broadcasts and long frames.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, PROMISE_LEN, Profile};

use super::{Diagnostics, Statement, end_statements, is_recent, note_statement, report};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Diagnostic, Event};
use crate::time::Instant;

/// A node that owns no token hears a heartbeat within this many WAITER_TIMEOUTs, if broadcasts reach it. Where the
/// token goes round, this node itself may send all heartbeats.
const UNREACHED_TIMEOUTS: u32 = 4;
/// After this many times the time after which a node is deaf, without any frame, earlier frames do not count.
const GAP_FACTOR: u32 = 2;

/// Observations, and which of them were reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Reachability {
    /// Unicast frames that came without any broadcast.
    unicast_only: Option<UnicastOnly>,
    /// Whether this node is OWNER.
    owns: bool,
    /// Members that announce that broadcasts do not reach them.
    unreached: Vec<Statement>,
    /// When a heartbeat or a PING was last refused as too long, with no data to drop.
    refused: Option<Instant>,
    /// The reported MTU that is too small.
    small_mtu: Option<Diagnostic>,
    /// Kinds of frames that were refused as too long, and when that was last reported.
    too_long: Vec<(Kind, Instant)>,
}

/// Unicast frames that came without any broadcast.
#[derive(Debug, Clone, Copy)]
struct UnicastOnly {
    first: Instant,
    last: Instant,
    /// When this node was last OWNER, or the first of the frames came.
    owned: Instant,
    reported: bool,
}

impl Reachability {
    /// Returns all reported problems that last.
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

    /// Ends the problems of members that were removed or have left.
    pub(super) fn end_for(&mut self, out: &mut Output, gone: &[MacAddr]) {
        for mac in end_statements(&mut self.unreached, gone) {
            report(out, Diagnostic::MemberUnreached { mac }, true);
        }
    }
}

impl Diagnostics {
    /// Returns the present problems.
    pub(super) fn reachability_problems(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = Diagnostic> {
        self.reachability
            .problems()
            .filter(move |trouble| match trouble {
                Diagnostic::MemberUnreached { mac } => {
                    !members.is_gone(context, *mac, members.silent_after(context))
                }
                _ => true,
            })
    }

    /// Whether only unicast frames have reached this node for long.
    pub(crate) fn hears_no_broadcasts(&self) -> bool {
        self.reachability
            .unicast_only
            .is_some_and(|unicast_only| unicast_only.reported)
    }

    /// Notes whether the new state is OWNER.
    pub(crate) fn note_state(&mut self, context: &Context, owns: bool) {
        let before = std::mem::replace(&mut self.reachability.owns, owns);
        if let Some(unicast_only) = self.reachability.unicast_only.as_mut().filter(|_| before) {
            unicast_only.owned = context.now();
        }
    }

    /// Handles a received frame: whether broadcasts reach this node, and whether they reach its author.
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

    /// Forgets the unicast frames after a long silence, which shows nothing about broadcasts.
    pub(super) fn forget_reach(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let (now, silence) = (context.now(), members.silent_after(context));
        let unicast_only = self.reachability.unicast_only;
        if unicast_only.is_some_and(|unicast_only| now.since(unicast_only.last) >= silence) {
            self.end_unicast_only(out);
        }
    }

    /// Handles a unicast frame: other members are there, and each of them broadcasts in a known time, an OWNER all the
    /// time.
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
            *unicast_only = begun;
        }
        unicast_only.last = now;
        if unicast_only.reported {
            return;
        }
        // While this node is OWNER, it sends the heartbeats itself and hears none.
        let others_own = if self.reachability.owns {
            Duration::ZERO
        } else {
            now.since(unicast_only.owned)
        };
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

    /// Reports a frame that was refused as too long, once in a while for each kind.
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

    /// Notes that a heartbeat or a PING was refused as too long, and could not be shortened.
    pub(crate) fn note_refused(&mut self, context: &Context, members: &Members, out: &mut Output) {
        self.reachability.refused = Some(context.now());
        self.compare_mtu(context, members, out);
    }

    /// Forgets refused frames, because the interface has another MTU.
    pub(crate) fn note_new_mtu(&mut self) {
        self.reachability.refused = None;
    }

    /// Compares the smallest MTU with the length of a PING with a promise.
    pub(super) fn compare_mtu(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let before = self.reachability.small_mtu;
        let refused = self.reachability.refused;
        let refused = refused.is_some_and(|at| is_recent(context, at));
        let (mtu, member) = if refused {
            (context.mtu(), None)
        } else {
            members.smallest_mtu(context)
        };
        let needed = PROMISE_LEN;
        let is_small = context.is_up() && (refused || mtu < needed);
        let small_mtu = is_small.then_some(Diagnostic::MtuTooSmall {
            mtu,
            needed,
            member,
        });
        self.reachability.small_mtu = small_mtu;
        match (before, small_mtu) {
            (before, Some(trouble)) if before != small_mtu => report(out, trouble, false),
            (Some(trouble), None) => report(out, trouble, true),
            _ => {}
        }
    }
}
