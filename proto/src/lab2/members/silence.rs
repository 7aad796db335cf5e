//! Who is heard and who is not; members that are silent for long are removed (`docs/protocol.md`, "Silent
//! members").

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::MAX_FORGOTTEN_PER_FRAME;

use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::snapshot::Writer;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Event, Lab2};
use crate::throttle::Throttle;
use crate::time::Instant;

/// Each member says something to all at least once in so many heartbeat periods, or as many as there are
/// members, if those are more.
const SIGN_OF_LIFE: usize = 64;
/// After so many failed hand-overs in a row only those count that are heard from then on.
const DOUBTS: u32 = 3;
/// Members that were removed stay away for so many WAITER_TIMEOUTs, whatever tables tell.
const AWAY: u32 = 16;

/// Bytes of a FORGET payload before its first member.
const FORGET_HEAD: usize = 10;

/// Hand-overs that have failed in a row, in this tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failing {
    /// When the first of them began.
    pub(crate) since: Instant,
    pub(crate) count: u32,
}

/// What is remembered of the others' silence and of the own one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Silence {
    /// When this node last said something to all that tells of itself as well.
    spoke: Option<Instant>,
    /// After too many hand-overs that have failed in a row: only who was heard at that time or later is
    /// offered the token.
    doubted: Option<Instant>,
    /// When an OWNER last looked for members that are silent for so long that they are removed.
    swept: Option<Instant>,
    /// Who is named by the FORGET that waits to be sent.
    named: Vec<MacAddr>,
    /// Saying an MTU that PING does not say.
    said_mtu: Throttle,
}

impl Silence {
    /// This node has said something to all that tells of itself as well.
    pub(crate) fn speak(&mut self, now: Instant) {
        self.spoke = Some(now);
    }

    /// What this node has said to all tells nobody any longer that it is there.
    pub(crate) fn unsay(&mut self) {
        self.spoke = None;
    }

    /// Who is named by the FORGET that waits to be sent.
    pub(crate) fn named(&self) -> &[MacAddr] {
        &self.named
    }

    /// The FORGET has left, or could not.
    pub(crate) fn named_was_sent(&mut self) {
        self.named.clear();
    }

    /// What the future depends on: nobody asks for what was longer ago than a `silence`.
    pub(crate) fn snapshot(&self, writer: &mut Writer, silence: Duration) {
        let Self {
            spoke,
            doubted,
            swept,
            named,
            said_mtu,
        } = self;
        writer.age_up_to(*spoke, silence);
        named.hash(writer);
        writer.within(*doubted, silence);
        writer.within(*swept, silence);
        writer.within(said_mtu.last(), silence);
    }
}

impl Lab2 {
    /// After how long a member whose heartbeat is that long counts as silent, be the ring small.
    pub(crate) fn silence_of(heartbeat: Duration) -> Duration {
        let periods = u32::try_from(SIGN_OF_LIFE * 2).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// How long a member is silent at most, towards all, while it hears heartbeats.
    fn sign_of_life(&self) -> Duration {
        self.sign_of_life_at(self.context.constants().heartbeat)
    }

    fn sign_of_life_at(&self, heartbeat: Duration) -> Duration {
        let periods = self.heard_members().max(SIGN_OF_LIFE);
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// After how long a member with this heartbeat counts as silent, whatever this node lives by.
    pub(crate) fn silence_at(&self, heartbeat: Duration) -> Duration {
        self.sign_of_life_at(heartbeat).saturating_mul(2)
    }

    /// After how long a member counts as silent.
    pub(crate) fn silence(&self) -> Duration {
        self.sign_of_life().saturating_mul(2)
    }

    /// Whom the token may be offered to: who was heard at this time or later.
    pub(crate) fn alive_since(&self) -> Instant {
        let alive = self.context.now().before(self.silence());
        let doubted = self.silence.doubted;
        doubted.map_or(alive, |doubted| alive.max(doubted))
    }

    /// A hand-over that began at `since` has failed. After some in a row the others that have said nothing
    /// meanwhile are not tried: they may be thousands, and who is there says something soon.
    pub(crate) fn note_failure(&mut self, since: Instant) {
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        let before = tenure.failing.take();
        let failing = Failing {
            since: before.map_or(since, |before| before.since),
            count: before.map_or(0, |before| before.count) + 1,
        };
        if failing.count >= DOUBTS {
            self.silence.doubted = Some(failing.since);
        } else {
            tenure.failing = Some(failing);
        }
    }

    /// Whom a PING in answer to a heartbeat is for: the holder, or all that have not heard of this node
    /// for long. Members have their turns at different times.
    pub(crate) fn audience(&self, holder: MacAddr) -> MacAddr {
        let most = self.sign_of_life();
        let quiet = self.silence.spoke.map(|at| self.context.now().since(at));
        let is_due = quiet.is_none_or(|quiet| {
            quiet >= most / 2 && {
                let rank = u32::try_from(self.table.rank(self.me())).unwrap_or(u32::MAX);
                let members = u32::try_from(self.table.len().max(1)).unwrap_or(u32::MAX);
                let turn = most / 2 / members * rank.min(members);
                quiet >= most / 2 + turn
            }
        });
        if is_due { MacAddr::BROADCAST } else { holder }
    }

    /// Removes a member that is no longer heard: the operator knows that it is gone for good. All are
    /// told.
    pub(crate) fn forget(&mut self, mac: MacAddr) {
        if self.is_gone(mac, self.silence()) {
            self.remove(&[mac], true);
            self.tell_removed();
        }
    }

    /// Whether a member may be removed: it is another one, and has left or was not heard for so long.
    pub(crate) fn is_gone(&self, mac: MacAddr, silence: Duration) -> bool {
        let alive = self.context.now().before(silence);
        let peer = self.table.find(mac).map(|at| &self.table.peers()[at]);
        mac != self.me() && peer.is_some_and(|peer| peer.is_gone(alive))
    }

    /// Removes members, whose addresses are in order.
    fn remove(&mut self, macs: &[MacAddr], tell: bool) {
        if macs.is_empty() {
            return;
        }
        self.table.remove(macs);
        self.end_troubles_of(macs);
        let now = self.context.now();
        let until = now + self.context.constants().waiter_timeout() * AWAY;
        self.table.removed.add(macs, now, until, tell);
        for &mac in macs {
            let members = self.table.len();
            self.event(Event::MemberForgotten { mac, members });
        }
        self.review_constants();
    }

    /// With a heartbeat the holder looks for members to remove, and for such that somebody still tells of. It
    /// speaks of them after that: a frame that is answered with a heartbeat has had its answers.
    pub(crate) fn look_after_members(&mut self) {
        let now = self.context.now();
        let last = *self.silence.swept.get_or_insert(now);
        let rested = now.since(last) >= self.sign_of_life();
        if rested && self.context.constants().forget.is_some() {
            self.out.set(Timer::Members, now);
        }
        self.look_after_removed();
        self.say_mtu_in_time();
    }

    /// Who has an MTU so small that PING does not say it asks where the token is, now and then, as soon as that is
    /// no answer to a frame: newcomers have not heard it, nor has who was on the other side of a cut, and its tokens
    /// do not arrive here until it has.
    pub(crate) fn say_mtu_in_time(&mut self) {
        if self.is_too_small_to_say() && self.is_mtu_due() {
            self.out.set(Timer::Members, self.context.now());
        }
    }

    fn is_mtu_due(&self) -> bool {
        let period = self.context.constants().waiter_timeout();
        self.silence.said_mtu.is_open(self.context.now(), period)
    }

    fn say_mtu(&mut self) {
        if self.context.is_up() && self.is_too_small_to_say() && self.is_mtu_due() {
            self.silence.said_mtu.note(self.context.now());
            self.broadcast(Content::WhereIsToken);
        }
    }

    /// A holder speaks soon of members that somebody still tells of, whether or not the token stays here
    /// until its next heartbeat.
    pub(crate) fn look_after_removed(&mut self) {
        let now = self.context.now();
        if self
            .table
            .removed
            .is_to_be_told(now, self.context.constants().heartbeat)
        {
            self.out.set(Timer::Members, now);
        }
    }

    /// It is time for that.
    pub(crate) fn review_members(&mut self) {
        self.remove_silent();
        self.tell_removed();
        self.say_mtu();
    }

    /// The holder removes members that have been silent for as long as they are remembered, and tells all.
    pub(crate) fn remove_silent(&mut self) {
        let Some(after) = self.context.constants().forget else {
            return;
        };
        let now = self.context.now();
        let (rests, after) = (self.sign_of_life(), after.max(self.silence()));
        let is_holder = matches!(self.role, Role::Owner(_));
        if !is_holder
            || !self.knows_who_is_silent()
            || self.silence.swept.is_some_and(|at| now.since(at) < rests)
        {
            return;
        }
        self.table.sort();
        let me = self.me();
        let members = self.table.members().iter().zip(self.table.peers());
        let silent =
            members.filter(|(it, peer)| it.mac != me && now.since(peer.silent_since()) >= after);
        let macs: Vec<MacAddr> = silent
            .map(|(member, _)| member.mac)
            .take(self.forgotten_per_frame())
            .collect();
        if macs.len() < self.forgotten_per_frame() {
            self.silence.swept = Some(now);
        }
        self.remove(&macs, true);
    }

    /// Tells all who was removed, as far as they may not know it.
    pub(crate) fn tell_removed(&mut self) {
        if !self.silence.named.is_empty() || !self.context.is_up() {
            return;
        }
        let now = self.context.now();
        let most = self.forgotten_per_frame();
        self.silence.named = self.table.removed.take_untold(most, now);
        if !self.silence.named.is_empty() {
            self.broadcast(Content::Forget);
        }
    }

    /// How many members fit one FORGET.
    fn forgotten_per_frame(&self) -> usize {
        let (mtu, _) = self.smallest_mtu();
        let fitting = mtu.saturating_sub(FORGET_HEAD) / size_of::<MacAddr>();
        fitting.clamp(1, MAX_FORGOTTEN_PER_FRAME)
    }

    /// FORGET: removes whom this node has not just heard. One frame that only this node has heard must
    /// not keep the tables apart for as long as it takes to be silent. Who is named itself is still
    /// there, and tells all.
    pub(crate) fn on_forget(&mut self, members: &[MacAddr]) {
        let mut gone: Vec<MacAddr> = members.to_vec();
        let patience = self.context.constants().waiter_timeout();
        gone.retain(|&mac| self.is_gone(mac, patience));
        gone.sort_unstable();
        gone.dedup();
        self.remove(&gone, false);
        if members.contains(&self.me()) {
            self.correct_own_entry();
        }
    }

    /// The table is full and a new author speaks: the holder removes the member that has been silent
    /// longest, if there is one, so that there is room.
    pub(crate) fn make_room(&mut self) -> bool {
        if !matches!(self.role, Role::Owner(_)) {
            return false;
        }
        let (me, alive) = (self.me(), self.context.now().before(self.silence()));
        let members = self.table.members().iter().zip(self.table.peers());
        let gone = members.filter(|(it, peer)| it.mac != me && peer.is_gone(alive));
        let longest = gone.min_by_key(|(_, peer)| peer.silent_since());
        let Some(mac) = longest.map(|(member, _)| member.mac) else {
            return false;
        };
        self.remove(&[mac], true);
        true
    }

    /// A member is new in the table: since now it is waited for.
    pub(crate) fn told_of(&mut self, at: usize) {
        self.table.peer_at(at).seen = self.context.now().as_nanos();
    }
}
