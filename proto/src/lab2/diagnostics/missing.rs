//! Members that fall silent and that are heard again, as people are told of them.

use ring_codec::MacAddr;

use super::{Diagnostics, tell_change};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::{Members, Peer};
use crate::lab2::{Event, SilentMembers, Trouble};
use crate::time::Instant;

/// It is looked so many times in the time after which a member counts as silent.
const LOOKS: u32 = 64;
/// A node that has not looked in this part of that time did not run: it cannot say who was silent meanwhile.
const ASLEEP: u32 = 8;
/// So many members that fall silent at about the same time are named one by one.
const NAMED: usize = 4;

/// When it was looked for members that are silent, and what was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Missing {
    last: Option<Instant>,
    /// When it is to be looked again.
    next: Option<Instant>,
    /// Since when this node has run without standing still.
    awake: Option<Instant>,
    /// Who was last heard before this is silent. It never goes back: a ring that grows gives its members more
    /// time, but brings nobody back who was told to be silent.
    alive: Instant,
    /// Members that this node has never heard and that others report as silent, by MAC. Members that have left are
    /// reported by nobody.
    reported: Vec<MacAddr>,
    /// There are too few members for a quorum.
    no_quorum: Option<Trouble>,
}

impl Missing {
    pub(super) const fn no_quorum(&self) -> Option<Trouble> {
        self.no_quorum
    }

    /// The link went down. Returns what is over with that.
    pub(super) fn begin_anew(&mut self) -> Option<Trouble> {
        self.reported.clear();
        self.no_quorum.take()
    }

    /// Whether a member was not heard since `alive`, and has not left. A node that was started after a member had left cannot
    /// know that it has: it misses a member that it never heard if another member does.
    fn is_missed(&self, mac: MacAddr, peer: &Peer, alive: Instant) -> bool {
        let is_known = peer.was_heard() || self.reported.binary_search(&mac).is_ok();
        is_known && !peer.has_left() && peer.silent_since() < alive
    }
}

/// Members to whom the same has happened: the first ones by their names.
#[derive(Default)]
struct Found {
    named: [(MacAddr, Instant); NAMED],
    count: usize,
}

impl Found {
    fn add(&mut self, mac: MacAddr, seen: Instant) {
        if let Some(place) = self.named.get_mut(self.count) {
            *place = (mac, seen);
        }
        self.count += 1;
    }

    /// Those to name, each with how many others go without a name.
    fn told(&self) -> impl Iterator<Item = (MacAddr, Instant, usize)> {
        let named = if self.count > NAMED { 1 } else { self.count };
        let others = self.count - named;
        let named = self.named.iter().take(named);
        named.map(move |&(mac, seen)| (mac, seen, others))
    }
}

impl Diagnostics {
    /// Looks, now and then, for what changes though nothing happens: members that say nothing, for one. Returns whether
    /// it was time.
    pub(crate) fn look_around(
        &mut self,
        context: &Context,
        members: &mut Members,
        out: &mut Output,
    ) -> bool {
        if self.missing.next.is_some_and(|next| context.now() < next) {
            return false;
        }
        self.look_for_silent(context, members, out);
        self.forget_reach(context, members, out);
        self.compare_mtu(context, members, out);
        self.review_unheard(context, members, out);
        true
    }

    /// Tells who has fallen silent and who is heard again: many at once are told together.
    fn look_for_silent(&mut self, context: &Context, members: &mut Members, out: &mut Output) {
        let missing = &mut self.missing;
        let (now, silence) = (context.now(), members.silence(context));
        let gap = missing.last.map(|last| now.since(last));
        missing.last = Some(now);
        missing.next = Some(now + silence / LOOKS);
        if gap.is_none_or(|gap| gap >= silence / ASLEEP) {
            missing.awake = Some(now);
        }
        let attends = missing.awake.max(context.up_since());
        let knows = context.is_up() && attends.is_some_and(|at| now.since(at) >= silence);
        missing.alive = missing.alive.max(now.before(silence));
        // Others were heard meanwhile, or are forgotten.
        missing.reported.retain(|&mac| is_hearsay(members, mac));
        let (mut silent, mut back) = (Found::default(), Found::default());
        members.review_told_silent(context, |mac, peer| {
            let is_silent = missing.is_missed(mac, peer, missing.alive);
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
        for (mac, seen, others) in silent.told() {
            let quiet = now.since(seen);
            out.event(Event::MemberSilent { mac, quiet, others });
        }
        for (mac, _, others) in back.told() {
            out.event(Event::MemberAlive { mac, others });
        }
        // That no majority of the ring is there a node knows once it has attended for long enough.
        let before = missing.no_quorum;
        let trouble = self.find_no_quorum(context, members);
        let trouble = trouble.filter(|_| knows || before.is_some());
        self.missing.no_quorum = trouble;
        tell_change(out, before, trouble);
    }

    /// A member says in its card that it does not hear another one.
    pub(super) fn note_reported(&mut self, members: &Members, mac: MacAddr) {
        let reported = &mut self.missing.reported;
        if is_hearsay(members, mac)
            && let Err(at) = reported.binary_search(&mac)
        {
            reported.insert(at, mac);
        }
    }

    /// Whether fewer members are there than a quorum has. Where nobody has said how many there are to be, members that have
    /// left on purpose are not missed.
    fn find_no_quorum(&self, context: &Context, members: &Members) -> Option<Trouble> {
        let expected = members.expected(context).unwrap_or(0);
        let ring = members.roster(context);
        let silent: SilentMembers = self.silent_members(context, members).collect();
        let present = members.present_members(context);
        let is_missed = expected > 0 || silent.count() > 0;
        (is_missed && present < ring / 2 + 1).then_some(Trouble::NoQuorum {
            present,
            ring,
            expected,
            silent,
        })
    }

    /// Returns the silent members other than this node, in the order of the table. For a member that was never heard, the
    /// time counts from the first table that listed it.
    pub(crate) fn silent_members(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = MacAddr> {
        let alive = context.now().before(members.silence(context));
        let others = members.others(context);
        let silent = others.filter(move |(mac, peer)| self.missing.is_missed(*mac, peer, alive));
        silent.map(|(mac, _)| mac)
    }
}

/// Whether a member is only heard of, and has not left.
fn is_hearsay(members: &Members, mac: MacAddr) -> bool {
    let peer = members.peer(mac);
    peer.is_some_and(|peer| !peer.was_heard() && !peer.has_left())
}
