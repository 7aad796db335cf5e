//! What gets through between this node and the others: frames to all, and long ones.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, PROMISE_LEN, Profile};

use super::{Diagnostics, Said, end_said, is_recent, note_said, tell};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Event, Trouble};
use crate::time::Instant;

/// After so many WAITER_TIMEOUTs without a tenure of its own a node has heard a heartbeat, if what goes to all
/// reaches it. Where the token goes round it may be this node that says all of them.
const UNREACHED: u32 = 4;
/// After so many times the time after which a node is deaf without any frame, what was heard before is another matter.
const GAP: u32 = 2;

/// What was noticed, and told.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    /// Frames to this node alone have come, and none to all.
    alone: Option<Alone>,
    /// This node is OWNER.
    owns: bool,
    /// Members that say the same of themselves.
    unreached: Vec<Said>,
    /// When a heartbeat or a PING was last refused as too long, though there are no data to drop.
    refused: Option<Instant>,
    /// Whose interface carries too little, as was told.
    small: Option<Trouble>,
    /// The kinds of frames that were refused as too long, and when that was last told.
    too_long: Vec<(Kind, Instant)>,
}

/// Frames to this node alone.
#[derive(Debug, Clone, Copy)]
struct Alone {
    first: Instant,
    last: Instant,
    /// When this node was OWNER last, or the first of them came.
    owned: Instant,
    told: bool,
}

impl Reach {
    /// Everything that lasts.
    pub(super) fn all(&self) -> impl Iterator<Item = Trouble> {
        let alone = self.alone.filter(|alone| alone.told);
        let alone = alone.map(|_| Trouble::BroadcastsUnheard);
        let unreached = self.unreached.iter().filter(|said| said.told);
        let unreached = unreached.map(|said| Trouble::MemberUnreached { mac: said.mac });
        alone.into_iter().chain(unreached).chain(self.small)
    }

    /// Members were removed, or one has left.
    pub(super) fn end_of(&mut self, out: &mut Output, gone: &[MacAddr]) {
        for mac in end_said(&mut self.unreached, gone) {
            tell(out, Trouble::MemberUnreached { mac }, true);
        }
    }
}

impl Diagnostics {
    /// What is wrong just now.
    pub(super) fn reach_troubles(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = Trouble> {
        self.reach.all().filter(move |trouble| match trouble {
            Trouble::MemberUnreached { mac } => {
                !members.is_gone(context, *mac, members.silence(context))
            }
            _ => true,
        })
    }

    /// Whether of all frames only those to this node alone have reached it for long.
    pub(crate) fn hears_no_broadcasts(&self) -> bool {
        self.reach.alone.is_some_and(|alone| alone.told)
    }

    /// The state changes: to OWNER or to another.
    pub(crate) fn note_state(&mut self, context: &Context, owns: bool) {
        let before = std::mem::replace(&mut self.reach.owns, owns);
        if let Some(alone) = self.reach.alone.as_mut().filter(|_| before) {
            alone.owned = context.now();
        }
    }

    /// A frame has come, to all or to this node alone, and says perhaps whether its author is reached by what
    /// goes to all.
    pub(crate) fn note_reach(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        (envelope, profile): (Envelope, Option<&Profile>),
    ) {
        if envelope.broadcast {
            self.end_alone(out);
        } else {
            self.note_alone(context, members, out);
        }
        let mac = envelope.from;
        let Some(profile) = profile.filter(|_| members.has(mac)) else {
            return;
        };
        let (unreached, at_once) = (profile.is_unreached(), (context.now(), Duration::ZERO));
        if note_said(&mut self.reach.unreached, mac, unreached, at_once) {
            tell(out, Trouble::MemberUnreached { mac }, !unreached);
        }
    }

    fn end_alone(&mut self, out: &mut Output) {
        if self.reach.alone.take().is_some_and(|alone| alone.told) {
            tell(out, Trouble::BroadcastsUnheard, true);
        }
    }

    /// Where nobody has spoken for so long that all count as silent nothing shows whether this node would be
    /// reached.
    pub(super) fn forget_reach(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let (now, silence) = (context.now(), members.silence(context));
        let alone = self.reach.alone;
        if alone.is_some_and(|alone| now.since(alone.last) >= silence) {
            self.end_alone(out);
        }
    }

    /// A frame to this node alone: others are there, and each of them says something to all in that time, an
    /// OWNER all the time.
    fn note_alone(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let now = context.now();
        let begun = Alone {
            first: now,
            last: now,
            owned: now,
            told: false,
        };
        let alone = self.reach.alone.get_or_insert(begun);
        if !alone.told && now.since(alone.last) > context.deaf_after() * GAP {
            *alone = begun;
        }
        alone.last = now;
        if alone.told {
            return;
        }
        let others_own = if self.reach.owns {
            Duration::ZERO
        } else {
            now.since(alone.owned)
        };
        let longest = members.longest_patience(context);
        let slowest = longest / context.constants().waiter_intervals;
        let silence = members.silence(context).max(Members::silence_of(slowest));
        if others_own >= longest * UNREACHED || now.since(alone.first) >= silence {
            alone.told = true;
            tell(out, Trouble::BroadcastsUnheard, false);
        }
    }

    /// A frame was refused as too long: that is told once in a while.
    pub(crate) fn note_too_long(&mut self, context: &Context, out: &mut Output, kind: Kind) {
        let now = context.now();
        let all = &mut self.reach.too_long;
        match all.iter_mut().find(|(told, _)| *told == kind) {
            Some((_, at)) if is_recent(context, *at) => return,
            Some((_, at)) => *at = now,
            None => all.push((kind, now)),
        }
        let mtu = context.mtu();
        out.event(Event::TooLong { kind, mtu });
    }

    /// A heartbeat or a PING was refused as too long, and there is nothing that it could do without.
    pub(crate) fn note_refused(&mut self, context: &Context, members: &Members, out: &mut Output) {
        self.reach.refused = Some(context.now());
        self.compare_mtu(context, members, out);
    }

    /// The interface has another MTU: what it has refused before is another matter.
    pub(crate) fn note_new_mtu(&mut self) {
        self.reach.refused = None;
    }

    /// Compares the smallest MTU with what a promise needs.
    pub(super) fn compare_mtu(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let before = self.reach.small;
        let refused = self.reach.refused;
        let refused = refused.is_some_and(|at| is_recent(context, at));
        let (mtu, member) = if refused {
            (context.mtu(), None)
        } else {
            members.smallest_mtu(context)
        };
        let needed = PROMISE_LEN;
        let is_small = context.is_up() && (refused || mtu < needed);
        let small = is_small.then_some(Trouble::MtuTooSmall {
            mtu,
            needed,
            member,
        });
        self.reach.small = small;
        match (before, small) {
            (before, Some(trouble)) if before != small => tell(out, trouble, false),
            (Some(trouble), None) => tell(out, trouble, true),
            _ => {}
        }
    }
}
