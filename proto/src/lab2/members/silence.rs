//! Silent members: when a member counts as silent, and how it is removed (`docs/protocol.md`, "Silent members").

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::FORGOTTEN_PER_FRAME_MAX;

use super::Members;
use crate::lab2::machine::{Content, Context, Output, Timer, Writer};
use crate::throttle::Throttle;
use crate::time::Instant;

/// Each member broadcasts at least once in this many heartbeat periods, or in as many as there are members, if that is
/// more.
const SIGN_OF_LIFE_PERIODS: usize = 64;
/// For this many WAITER_TIMEOUTs, tables do not bring back a removed member.
const TOMBSTONE_TIMEOUTS: u32 = 16;

/// Length of a FORGET payload without members, in bytes.
const FORGET_HEADER_LEN: usize = 10;

/// Times about the silence of members and of this node.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence {
    /// When this node last broadcast a frame that shows that it is alive.
    last_broadcast: Option<Instant>,
    /// After failed handovers: only members heard at this time or later are offered the token.
    doubted_since: Option<Instant>,
    /// When this OWNER last looked for members to remove.
    last_sweep: Option<Instant>,
    /// Members that the waiting FORGET names.
    forget_list: Vec<MacAddr>,
    /// Announcements of an MTU that is too small for PING.
    mtu_announcements: Throttle,
}

impl Silence {
    /// Forgets the last broadcast, so that the next answer to a heartbeat is one.
    pub(super) fn forget_broadcast(&mut self) {
        self.last_broadcast = None;
    }

    /// Writes ages, which count up to `silence`.
    pub(super) fn snapshot(&self, writer: &mut Writer, silence: Duration) {
        let Self {
            last_broadcast,
            doubted_since,
            last_sweep,
            forget_list,
            mtu_announcements,
        } = self;
        writer.age_up_to(*last_broadcast, silence);
        forget_list.hash(writer);
        writer.within(*doubted_since, silence);
        writer.within(*last_sweep, silence);
        writer.within(mtu_announcements.last(), silence);
    }
}

impl Members {
    /// Notes a broadcast that shows that this node is alive.
    pub(crate) fn note_broadcast(&mut self, now: Instant) {
        self.silence.last_broadcast = Some(now);
    }

    /// Returns the members that the waiting FORGET names.
    pub(crate) fn forget_list(&self) -> &[MacAddr] {
        &self.silence.forget_list
    }

    /// Handles the outcome of FORGET.
    pub(crate) fn on_forget_sent(&mut self) {
        self.silence.forget_list.clear();
    }

    /// Returns after how long a member with this heartbeat counts as silent in a small ring.
    pub(crate) fn silent_after_in_small_ring(heartbeat: Duration) -> Duration {
        let periods = u32::try_from(SIGN_OF_LIFE_PERIODS * 2).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// Returns the longest time between two broadcasts of a member that hears heartbeats.
    fn sign_of_life_period(&self, context: &Context) -> Duration {
        self.sign_of_life_period_for(context.constants().heartbeat)
    }

    fn sign_of_life_period_for(&self, heartbeat: Duration) -> Duration {
        // In a large ring, one broadcast per period in all keeps the load constant.
        let periods = self.count_heard().max(SIGN_OF_LIFE_PERIODS);
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// Returns after how long a member with this heartbeat counts as silent.
    pub(crate) fn silent_after_for(&self, heartbeat: Duration) -> Duration {
        // One broadcast may be lost.
        self.sign_of_life_period_for(heartbeat).saturating_mul(2)
    }

    /// Returns after how long a member counts as silent.
    pub(crate) fn silent_after(&self, context: &Context) -> Duration {
        self.sign_of_life_period(context).saturating_mul(2)
    }

    /// Returns the time at or after which a member must have been heard to be offered the token.
    pub(crate) fn eligible_since(&self, context: &Context) -> Instant {
        let alive = context.now().before(self.silent_after(context));
        let doubted_since = self.silence.doubted_since;
        doubted_since.map_or(alive, |doubted_since| alive.max(doubted_since))
    }

    /// Stops offers to members that were not heard since `since`, the start of the failed handovers.
    pub(crate) fn set_doubt(&mut self, since: Instant) {
        // Thousands of members may be dead. A member that is alive is heard soon.
        self.silence.doubted_since = Some(since);
    }

    /// Returns the receiver of a PING that answers a heartbeat: the holder, or all members if this node has not
    /// broadcast for long.
    pub(crate) fn ping_receiver(&self, context: &Context, holder: MacAddr) -> MacAddr {
        let most = self.sign_of_life_period(context);
        let quiet = self
            .silence
            .last_broadcast
            .map(|at| context.now().since(at));
        let is_due = quiet.is_none_or(|quiet| {
            quiet >= most / 2 && {
                // Members broadcast at different times, by their rank.
                let rank = self.own_rank(context);
                let members = u32::try_from(self.table.len().max(1)).unwrap_or(u32::MAX);
                let turn = most / 2 / members * rank.min(members);
                quiet >= most / 2 + turn
            }
        });
        if is_due { MacAddr::BROADCAST } else { holder }
    }

    /// Whether another member has left, or was not heard for `silence`.
    pub(crate) fn is_gone(&self, context: &Context, mac: MacAddr, silence: Duration) -> bool {
        let alive = context.now().before(silence);
        let peer = self.peer(mac);
        mac != context.me() && peer.is_some_and(|peer| peer.is_gone(alive))
    }

    /// Removes members, given in the order of their addresses, and adds their tombstones.
    pub(crate) fn remove(&mut self, context: &Context, macs: &[MacAddr], announce: bool) {
        self.table.remove(macs);
        let now = context.now();
        let until = now + context.waiter_timeout() * TOMBSTONE_TIMEOUTS;
        self.table.removed.add(macs, now, until, announce);
    }

    /// Schedules the removal of silent members and due announcements, after a heartbeat.
    pub(crate) fn on_heartbeat_sent(&mut self, context: &Context, out: &mut Output) {
        let now = context.now();
        let last = *self.silence.last_sweep.get_or_insert(now);
        let rested = now.since(last) >= self.sign_of_life_period(context);
        if rested && context.constants().forget.is_some() {
            // Not at once: a frame that was answered with this heartbeat has had its answers.
            out.set(Timer::Members, now);
        }
        self.schedule_forget(context, out);
        self.schedule_mtu_announcement(context, out);
    }

    /// Schedules the announcement of an MTU that is too small for PING. It is repeated, for newcomers and for members
    /// that were on the other side of a split: until they know it, their tokens do not arrive here.
    pub(crate) fn schedule_mtu_announcement(&self, context: &Context, out: &mut Output) {
        if Self::is_mtu_too_small_for_ping(context) && self.is_mtu_due(context) {
            out.set(Timer::Members, context.now());
        }
    }

    fn is_mtu_due(&self, context: &Context) -> bool {
        let period = context.waiter_timeout();
        self.silence
            .mtu_announcements
            .is_allowed(context.now(), period)
    }

    pub(crate) fn announce_mtu(&mut self, context: &Context, out: &mut Output) {
        if context.is_up() && Self::is_mtu_too_small_for_ping(context) && self.is_mtu_due(context) {
            self.silence.mtu_announcements.record(context.now());
            out.broadcast(Content::WhereIsToken);
        }
    }

    /// Schedules FORGET if a member still names a removed one, even if the token goes on before the next heartbeat.
    pub(crate) fn schedule_forget(&self, context: &Context, out: &mut Output) {
        let now = context.now();
        if self
            .table
            .removed
            .has_unannounced(now, context.constants().heartbeat)
        {
            out.set(Timer::Members, now);
        }
    }

    /// Returns the members to remove, which have been silent for `--forget-after`: as many as one FORGET names.
    pub(crate) fn take_expired(&mut self, context: &Context) -> Vec<MacAddr> {
        let Some(after) = context.constants().forget else {
            return Vec::new();
        };
        let now = context.now();
        let (rests, after) = (
            self.sign_of_life_period(context),
            after.max(self.silent_after(context)),
        );
        if !self.knows_silent_members(context)
            || self
                .silence
                .last_sweep
                .is_some_and(|at| now.since(at) < rests)
        {
            return Vec::new();
        }
        self.table.sort();
        let most = self.forgotten_per_frame(context);
        let others = self.others(context);
        let silent = others.filter(|(_, peer)| now.since(peer.silent_since()) >= after);
        let macs: Vec<MacAddr> = silent.map(|(mac, _)| mac).take(most).collect();
        // If more are left, the next heartbeat continues.
        if macs.len() < most {
            self.silence.last_sweep = Some(now);
        }
        macs
    }

    /// Broadcasts FORGET of removed members that others may still list.
    pub(crate) fn broadcast_forget(&mut self, context: &Context, out: &mut Output) {
        // The waiting FORGET reads the list when it is encoded.
        if !self.silence.forget_list.is_empty() || !context.is_up() {
            return;
        }
        let now = context.now();
        let most = self.forgotten_per_frame(context);
        self.silence.forget_list = self.table.removed.take_unannounced(most, now);
        if !self.silence.forget_list.is_empty() {
            out.broadcast(Content::Forget);
        }
    }

    /// Returns how many members one FORGET can name.
    fn forgotten_per_frame(&self, context: &Context) -> usize {
        let (mtu, _) = self.smallest_mtu(context);
        let fitting = mtu.saturating_sub(FORGET_HEADER_LEN) / size_of::<MacAddr>();
        fitting.clamp(1, FORGOTTEN_PER_FRAME_MAX)
    }

    /// Returns, in order, the members of a FORGET that have left or were not heard for WAITER_TIMEOUT.
    pub(crate) fn select_gone(&self, context: &Context, members: &[MacAddr]) -> Vec<MacAddr> {
        // If one frame that only this node has heard kept the member, tables would differ until it is silent here too.
        let mut gone: Vec<MacAddr> = members.to_vec();
        gone.retain(|&mac| self.is_gone(context, mac, context.waiter_timeout()));
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Returns the member that has been silent longest, to be replaced in a full table.
    pub(crate) fn longest_silent_member(&self, context: &Context) -> Option<MacAddr> {
        let alive = context.now().before(self.silent_after(context));
        let gone = self.others(context).filter(|(_, peer)| peer.is_gone(alive));
        let longest = gone.min_by_key(|(_, peer)| peer.silent_since());
        longest.map(|(mac, _)| mac)
    }

    /// Returns the silent member that this node's card names in this heartbeat period.
    pub(crate) fn next_silent_member(&self, context: &Context) -> Option<MacAddr> {
        let members = self.table.members().iter().zip(self.table.peers());
        let silent = members.filter(|(_, peer)| peer.told_silent && !peer.left);
        let count = silent.clone().count();
        // The time selects the member, so no position has to be stored.
        let period = context.constants().heartbeat.as_nanos().max(1);
        let turn = u128::from(context.now().as_nanos()) / period;
        let place = usize::try_from(turn.checked_rem(count as u128)?).ok()?;
        silent.map(|(member, _)| member.mac).nth(place)
    }
}
