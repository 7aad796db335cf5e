//! Who is heard and who is not; members that are silent for long are removed (`docs/protocol.md`, "Silent
//! members").

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::MAX_FORGOTTEN_PER_FRAME;

use super::Members;
use crate::lab2::machine::{Content, Context, Output, Timer, Writer};
use crate::throttle::Throttle;
use crate::time::Instant;

/// Each member says something to all at least once in so many heartbeat periods, or as many as there are
/// members, if those are more.
const SIGN_OF_LIFE: usize = 64;
/// Members that were removed stay away for so many WAITER_TIMEOUTs, whatever tables tell.
const AWAY: u32 = 16;

/// Bytes of a FORGET payload before its first member.
const FORGET_HEAD: usize = 10;

/// What is remembered of the others' silence and of the own one.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence {
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
    /// What this node has said to all tells nobody any longer that it is there.
    pub(super) fn unsay(&mut self) {
        self.spoke = None;
    }

    /// What the future depends on: nobody asks for what was longer ago than a `silence`.
    pub(super) fn snapshot(&self, writer: &mut Writer, silence: Duration) {
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

impl Members {
    /// This node has said something to all that tells of itself as well.
    pub(crate) fn speak(&mut self, now: Instant) {
        self.silence.spoke = Some(now);
    }

    /// The members that are named by the FORGET that waits to be sent.
    pub(crate) fn named(&self) -> &[MacAddr] {
        &self.silence.named
    }

    /// The FORGET has left, or could not.
    pub(crate) fn on_forget_sent(&mut self) {
        self.silence.named.clear();
    }

    /// After how long a member whose heartbeat is that long counts as silent, be the ring small.
    pub(crate) fn silence_of(heartbeat: Duration) -> Duration {
        let periods = u32::try_from(SIGN_OF_LIFE * 2).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// How long a member is silent at most, towards all, while it hears heartbeats.
    fn sign_of_life(&self, context: &Context) -> Duration {
        self.sign_of_life_at(context.constants().heartbeat)
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
    pub(crate) fn silence(&self, context: &Context) -> Duration {
        self.sign_of_life(context).saturating_mul(2)
    }

    /// Whom the token may be offered to: who was heard at this time or later.
    pub(crate) fn alive_since(&self, context: &Context) -> Instant {
        let alive = context.now().before(self.silence(context));
        let doubted = self.silence.doubted;
        doubted.map_or(alive, |doubted| alive.max(doubted))
    }

    /// After too many hand-overs that have failed in a row, the others that have said nothing since the first
    /// are not tried: they may be thousands, and who is there says something soon.
    pub(crate) fn doubt(&mut self, since: Instant) {
        self.silence.doubted = Some(since);
    }

    /// Whom a PING in answer to a heartbeat is for: the holder, or all that have not heard of this node
    /// for long. Members have their turns at different times.
    pub(crate) fn audience(&self, context: &Context, holder: MacAddr) -> MacAddr {
        let most = self.sign_of_life(context);
        let quiet = self.silence.spoke.map(|at| context.now().since(at));
        let is_due = quiet.is_none_or(|quiet| {
            quiet >= most / 2 && {
                let rank = self.own_rank(context);
                let members = u32::try_from(self.table.len().max(1)).unwrap_or(u32::MAX);
                let turn = most / 2 / members * rank.min(members);
                quiet >= most / 2 + turn
            }
        });
        if is_due { MacAddr::BROADCAST } else { holder }
    }

    /// Whether a member may be removed: it is another one, and has left or was not heard for so long.
    pub(crate) fn is_gone(&self, context: &Context, mac: MacAddr, silence: Duration) -> bool {
        let alive = context.now().before(silence);
        let peer = self.peer(mac);
        mac != context.me() && peer.is_some_and(|peer| peer.is_gone(alive))
    }

    /// Removes members, whose addresses are in order. Tables of others do not bring them back for a while.
    pub(crate) fn remove(&mut self, context: &Context, macs: &[MacAddr], tell: bool) {
        self.table.remove(macs);
        let now = context.now();
        let until = now + context.waiter_timeout() * AWAY;
        self.table.removed.add(macs, now, until, tell);
    }

    /// With a heartbeat the holder looks for members to remove, and for such that somebody still tells of. It
    /// speaks of them after that: a frame that is answered with a heartbeat has had its answers.
    pub(crate) fn look_after(&mut self, context: &Context, out: &mut Output) {
        let now = context.now();
        let last = *self.silence.swept.get_or_insert(now);
        let rested = now.since(last) >= self.sign_of_life(context);
        if rested && context.constants().forget.is_some() {
            out.set(Timer::Members, now);
        }
        self.look_after_removed(context, out);
        self.say_mtu_in_time(context, out);
    }

    /// Who has an MTU so small that PING does not say it asks where the token is, now and then, as soon as that is
    /// no answer to a frame: newcomers have not heard it, nor has who was on the other side of a cut, and its tokens
    /// do not arrive here until it has.
    pub(crate) fn say_mtu_in_time(&self, context: &Context, out: &mut Output) {
        if Self::is_too_small_to_say(context) && self.is_mtu_due(context) {
            out.set(Timer::Members, context.now());
        }
    }

    fn is_mtu_due(&self, context: &Context) -> bool {
        let period = context.waiter_timeout();
        self.silence.said_mtu.is_open(context.now(), period)
    }

    pub(crate) fn say_mtu(&mut self, context: &Context, out: &mut Output) {
        if context.is_up() && Self::is_too_small_to_say(context) && self.is_mtu_due(context) {
            self.silence.said_mtu.note(context.now());
            out.broadcast(Content::WhereIsToken);
        }
    }

    /// A holder speaks soon of members that somebody still tells of, whether or not the token stays here
    /// until its next heartbeat.
    pub(crate) fn look_after_removed(&self, context: &Context, out: &mut Output) {
        let now = context.now();
        if self
            .table
            .removed
            .is_to_be_told(now, context.constants().heartbeat)
        {
            out.set(Timer::Members, now);
        }
    }

    /// Returns the members that have been silent for as long as they are remembered, for their holder to remove: some
    /// at a time.
    pub(crate) fn take_forgotten(&mut self, context: &Context) -> Vec<MacAddr> {
        let Some(after) = context.constants().forget else {
            return Vec::new();
        };
        let now = context.now();
        let (rests, after) = (self.sign_of_life(context), after.max(self.silence(context)));
        if !self.knows_who_is_silent(context)
            || self.silence.swept.is_some_and(|at| now.since(at) < rests)
        {
            return Vec::new();
        }
        self.table.sort();
        let most = self.forgotten_per_frame(context);
        let others = self.others(context);
        let silent = others.filter(|(_, peer)| now.since(peer.silent_since()) >= after);
        let macs: Vec<MacAddr> = silent.map(|(mac, _)| mac).take(most).collect();
        if macs.len() < most {
            self.silence.swept = Some(now);
        }
        macs
    }

    /// Tells all who was removed, as far as they may not know it.
    pub(crate) fn tell_removed(&mut self, context: &Context, out: &mut Output) {
        if !self.silence.named.is_empty() || !context.is_up() {
            return;
        }
        let now = context.now();
        let most = self.forgotten_per_frame(context);
        self.silence.named = self.table.removed.take_untold(most, now);
        if !self.silence.named.is_empty() {
            out.broadcast(Content::Forget);
        }
    }

    /// How many members fit one FORGET.
    fn forgotten_per_frame(&self, context: &Context) -> usize {
        let (mtu, _) = self.smallest_mtu(context);
        let fitting = mtu.saturating_sub(FORGET_HEAD) / size_of::<MacAddr>();
        fitting.clamp(1, MAX_FORGOTTEN_PER_FRAME)
    }

    /// FORGET: returns those of these members that this node has not just heard, in order. One frame that only this node
    /// has heard must not keep the tables apart for as long as it takes to be silent.
    pub(crate) fn gone_of(&self, context: &Context, members: &[MacAddr]) -> Vec<MacAddr> {
        let mut gone: Vec<MacAddr> = members.to_vec();
        gone.retain(|&mac| self.is_gone(context, mac, context.waiter_timeout()));
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// The member that has been silent longest: it makes room for a new author in a full table.
    pub(crate) fn longest_silent(&self, context: &Context) -> Option<MacAddr> {
        let alive = context.now().before(self.silence(context));
        let gone = self.others(context).filter(|(_, peer)| peer.is_gone(alive));
        let longest = gone.min_by_key(|(_, peer)| peer.silent_since());
        longest.map(|(mac, _)| mac)
    }

    /// The member that this node's cards name next as not heard for long.
    pub(crate) fn next_silent(&self, context: &Context) -> Option<MacAddr> {
        let members = self.table.members().iter().zip(self.table.peers());
        let silent = members.filter(|(_, peer)| peer.told_silent && !peer.left);
        let count = silent.clone().count();
        let period = context.constants().heartbeat.as_nanos().max(1);
        let turn = u128::from(context.now().as_nanos()) / period;
        let place = usize::try_from(turn.checked_rem(count as u128)?).ok()?;
        silent.map(|(member, _)| member.mac).nth(place)
    }
}
