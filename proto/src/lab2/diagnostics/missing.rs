//! Members that fall silent and that are heard again, as people are told of them. Nothing is decided here.

use ring_codec::MacAddr;

use crate::lab2::{Event, Lab2, SilentMembers, Trouble};
use crate::time::Instant;

/// It is looked so many times in the time after which a member counts as silent.
const LOOKS: u32 = 64;
/// A node that has not looked in this part of that time did not run: it cannot say who was silent meanwhile.
const ASLEEP: u32 = 8;
/// So many members that fall silent at about the same time are named one by one.
const NAMED: usize = 4;

/// When it was looked for members that are silent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    last: Option<Instant>,
    /// When it is to be looked again.
    next: Option<Instant>,
    /// Since when this node has run without standing still.
    awake: Option<Instant>,
    /// Who was last heard before this is silent. It never goes back: a ring that grows gives its members more
    /// time, but brings nobody back who was told to be silent.
    alive: Instant,
}

/// Members that this node has never heard and that others report as silent. Members that have left are reported by nobody.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reported(Vec<MacAddr>);

impl Reported {
    fn has(&self, mac: MacAddr) -> bool {
        self.0.binary_search(&mac).is_ok()
    }

    fn add(&mut self, mac: MacAddr) {
        if let Err(at) = self.0.binary_search(&mac) {
            self.0.insert(at, mac);
        }
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

impl Lab2 {
    /// Looks, now and then, for what changes though nothing happens: members that say nothing, and a clock
    /// that is set.
    pub(crate) fn look_around(&mut self) {
        let now = self.context.now();
        if self.troubles.watch.next.is_some_and(|next| now < next) {
            return;
        }
        self.look_for_silent();
        self.forget_reach();
        self.compare_mtu();
        self.review_unheard();
        if !self.table.profiles().is_empty() {
            self.review_constants();
        }
        if let Some(token) = self.token() {
            self.compare_with_clock(token);
        }
    }

    /// Tells who has fallen silent and who is heard again: many at once are told together.
    fn look_for_silent(&mut self) {
        let now = self.context.now();
        let silence = self.silence();
        let gap = self.troubles.watch.last.map(|last| now.since(last));
        self.troubles.watch.last = Some(now);
        self.troubles.watch.next = Some(now + silence / LOOKS);
        if gap.is_none_or(|gap| gap >= silence / ASLEEP) {
            self.troubles.watch.awake = Some(now);
        }
        let attends = self.troubles.watch.awake.max(self.context.up_since());
        let knows = self.context.is_up() && attends.is_some_and(|at| now.since(at) >= silence);
        let alive = self.troubles.watch.alive.max(now.before(silence));
        self.troubles.watch.alive = alive;
        self.review_reported();
        let (mut silent, mut back) = (Found::default(), Found::default());
        for at in 0..self.table.len() {
            let mac = self.table.members()[at].mac;
            let peer = self.table.peers()[at];
            if self.is_own(mac) {
                continue;
            }
            let seen = peer.silent_since();
            let is_silent = self.is_missed(at, alive);
            if is_silent == peer.told_silent || is_silent && !knows {
                continue;
            }
            self.table.peer_at(at).told_silent = is_silent;
            if is_silent {
                silent.add(mac, seen);
            } else if !peer.left {
                back.add(mac, seen);
            }
        }
        for (mac, seen, others) in silent.told() {
            let quiet = now.since(seen);
            self.event(Event::MemberSilent { mac, quiet, others });
        }
        for (mac, _, others) in back.told() {
            self.event(Event::MemberAlive { mac, others });
        }
        self.look_for_quorum(knows);
    }

    /// Tells that no majority of the ring is there, which this node `knows` once it has attended for long enough.
    fn look_for_quorum(&mut self, knows: bool) {
        let before = self.troubles.no_quorum;
        let trouble = self.no_quorum().filter(|_| knows || before.is_some());
        self.troubles.no_quorum = trouble;
        match (before, trouble) {
            (None, Some(trouble)) => self.tell_trouble(trouble, false),
            (Some(trouble), None) => self.tell_trouble(trouble, true),
            _ => {}
        }
    }

    /// Returns how many members are there, this node included, as far as it can tell.
    #[must_use]
    pub fn present_members(&self) -> usize {
        let alive = self.context.now().before(self.silence());
        let peers = self.table.members().iter().zip(self.table.peers());
        let others = peers.filter(|(member, peer)| {
            !self.is_own(member.mac) && !peer.left && peer.silent_since() >= alive
        });
        1 + others.count()
    }

    /// A member says in its card that it does not hear another one.
    pub(crate) fn note_reported(&mut self, mac: MacAddr) {
        let peer = self.table.find(mac).map(|at| self.table.peers()[at]);
        if peer.is_some_and(|peer| !peer.heard && !peer.left) {
            self.troubles.reported.add(mac);
        }
    }

    /// Forgets reports of members that were heard meanwhile, or are forgotten.
    fn review_reported(&mut self) {
        let mut reported = std::mem::take(&mut self.troubles.reported.0);
        reported.retain(|&mac| {
            let peer = self.table.find(mac).map(|at| self.table.peers()[at]);
            peer.is_some_and(|peer| !peer.heard && !peer.left)
        });
        self.troubles.reported.0 = reported;
    }

    /// Whether a member was not heard since `alive`, and has not left. A node that was started after a member had left cannot
    /// know that it has: it misses a member that it never heard if another member does.
    fn is_missed(&self, at: usize, alive: Instant) -> bool {
        let (mac, peer) = (self.table.members()[at].mac, self.table.peers()[at]);
        let is_known = peer.heard || self.troubles.reported.has(mac);
        is_known && !peer.left && peer.silent_since() < alive
    }

    /// Whether fewer members are there than a quorum has. Where nobody has said how many there are to be, members that have
    /// left on purpose are not missed.
    fn no_quorum(&self) -> Option<Trouble> {
        let expected = self.expected_members();
        let ring = self.roster();
        let silent: SilentMembers = self.silent_members().collect();
        let present = self.present_members();
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
    pub fn silent_members(&self) -> impl Iterator<Item = MacAddr> {
        let alive = self.context.now().before(self.silence());
        let places = 0..self.table.len();
        let silent = places.filter(move |&at| self.is_missed(at, alive));
        let macs = silent.map(|at| self.table.members()[at].mac);
        macs.filter(|&mac| !self.is_own(mac))
    }
}
