//! What gets through between this node and the others, as people are told of it: frames to all, and long ones.
//! Nothing is decided here.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, PROMISE_LEN, Profile};

use crate::lab2::diagnostics::trouble::{Said, note_said};
use crate::lab2::machine::input::Envelope;
use crate::lab2::{Lab2, Trouble};
use crate::time::Instant;

/// After so many WAITER_TIMEOUTs without a tenure of its own a node has heard a heartbeat, if what goes to all
/// reaches it. Where the token goes round it may be this node that says all of them.
const UNREACHED: u32 = 4;
/// After so many earshots without any frame what was heard before is another matter.
const GAP: u32 = 2;

/// What was noticed, and told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    /// Frames to this node alone have come, and none to all.
    alone: Option<Alone>,
    /// This node is OWNER.
    owns: bool,
    /// Members that say the same of themselves.
    unreached: Vec<Said>,
    /// When a heartbeat or a PING was last refused as too long, though there are no data to drop.
    pub(crate) refused: Option<Instant>,
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
    pub(crate) fn all(&self) -> impl Iterator<Item = Trouble> {
        let alone = self.alone.filter(|alone| alone.told);
        let alone = alone.map(|_| Trouble::BroadcastsUnheard);
        let unreached = self.unreached.iter().filter(|said| said.told);
        let unreached = unreached.map(|said| Trouble::MemberUnreached { mac: said.mac });
        alone.into_iter().chain(unreached).chain(self.small)
    }

    /// Members were removed, or one has left.
    pub(crate) fn end_of(&mut self, gone: &[MacAddr], ended: &mut Vec<Trouble>) {
        self.unreached.retain(|said| {
            let goes = gone.contains(&said.mac);
            if goes && said.told {
                ended.push(Trouble::MemberUnreached { mac: said.mac });
            }
            !goes
        });
    }
}

impl Lab2 {
    /// What is wrong just now.
    pub(crate) fn reach_troubles(&self) -> impl Iterator<Item = Trouble> {
        self.troubles.reach.all().filter(|trouble| match trouble {
            Trouble::MemberUnreached { mac } => !self.is_gone(*mac, self.silence()),
            _ => true,
        })
    }

    /// Whether of all frames only those to this node alone have reached it for long.
    pub(crate) fn hears_no_broadcasts(&self) -> bool {
        self.troubles.reach.alone.is_some_and(|alone| alone.told)
    }

    /// The state changes: to OWNER or to another.
    pub(crate) fn note_tenure(&mut self, owns: bool) {
        let now = self.context.now();
        let before = std::mem::replace(&mut self.troubles.reach.owns, owns);
        if let Some(alone) = self.troubles.reach.alone.as_mut().filter(|_| before) {
            alone.owned = now;
        }
    }

    /// A frame has come, to all or to this node alone, and says perhaps whether its author is reached by what
    /// goes to all.
    pub(crate) fn note_reach(&mut self, envelope: Envelope, profile: Option<&Profile>) {
        if envelope.broadcast {
            let before = self.troubles.reach.alone.take();
            if before.is_some_and(|alone| alone.told) {
                self.tell_trouble(Trouble::BroadcastsUnheard, true);
            }
        } else {
            self.note_alone();
        }
        let mac = envelope.from;
        let Some(profile) = profile.filter(|_| self.table.find(mac).is_some()) else {
            return;
        };
        let (unreached, at_once) = (profile.is_unreached(), (self.context.now(), Duration::ZERO));
        if note_said(&mut self.troubles.reach.unreached, mac, unreached, at_once) {
            self.tell_trouble(Trouble::MemberUnreached { mac }, !unreached);
        }
    }

    /// Where nobody has spoken for so long that all count as silent nothing shows whether this node would be
    /// reached.
    pub(crate) fn forget_reach(&mut self) {
        let (now, silence) = (self.context.now(), self.silence());
        let ended = (self.troubles.reach.alone).take_if(|alone| now.since(alone.last) >= silence);
        if ended.is_some_and(|alone| alone.told) {
            self.tell_trouble(Trouble::BroadcastsUnheard, true);
        }
    }

    /// A frame to this node alone: others are there, and each of them says something to all in that time, an
    /// OWNER all the time.
    fn note_alone(&mut self) {
        let now = self.context.now();
        let gap = self.context.deaf_after() * GAP;
        let begun = Alone {
            first: now,
            last: now,
            owned: now,
            told: false,
        };
        let alone = self.troubles.reach.alone.get_or_insert(begun);
        if !alone.told && now.since(alone.last) > gap {
            *alone = begun;
        }
        alone.last = now;
        if alone.told {
            return;
        }
        let first = alone.first;
        let others_own = self
            .troubles
            .reach
            .alone
            .filter(|_| !self.troubles.reach.owns);
        let others_own = others_own.map_or(Duration::ZERO, |alone| now.since(alone.owned));
        let unreached = now.since(first);
        let slowest = self.longest_patience() / self.context.constants().waiter_intervals;
        if others_own >= self.longest_patience() * UNREACHED
            || unreached >= self.silence().max(Self::silence_of(slowest))
        {
            if let Some(alone) = &mut self.troubles.reach.alone {
                alone.told = true;
            }
            self.tell_trouble(Trouble::BroadcastsUnheard, false);
        }
    }

    /// A frame was refused as too long: whether people are to be told.
    pub(crate) fn note_too_long(&mut self, kind: Kind) -> bool {
        let now = self.context.now();
        let told = &self.troubles.reach.too_long;
        let before = told.iter().position(|&(told, _)| told == kind);
        let Some(at) = before else {
            self.troubles.reach.too_long.push((kind, now));
            return true;
        };
        let is_news = !self.is_recent(self.troubles.reach.too_long[at].1);
        if is_news {
            self.troubles.reach.too_long[at].1 = now;
        }
        is_news
    }

    /// A heartbeat or a PING was refused as too long, and there is nothing that it could do without.
    pub(crate) fn note_refused(&mut self) {
        self.troubles.reach.refused = Some(self.context.now());
        self.compare_mtu();
    }

    /// Compares the smallest MTU with what a promise needs.
    pub(crate) fn compare_mtu(&mut self) {
        let before = self.troubles.reach.small;
        let refused = self.troubles.reach.refused;
        let refused = refused.is_some_and(|at| self.is_recent(at));
        let (mtu, member) = if refused {
            (self.context.mtu(), None)
        } else {
            self.smallest_mtu()
        };
        let needed = PROMISE_LEN;
        let is_small = self.context.is_up() && (refused || mtu < needed);
        let small = is_small.then_some(Trouble::MtuTooSmall {
            mtu,
            needed,
            member,
        });
        if small == before {
            return;
        }
        self.troubles.reach.small = small;
        match (before, small) {
            (_, Some(trouble)) => self.tell_trouble(trouble, false),
            (Some(trouble), None) => self.tell_trouble(trouble, true),
            (None, None) => {}
        }
    }
}
