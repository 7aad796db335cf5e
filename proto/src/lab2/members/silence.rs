//! The rules for silent members: when a member counts as silent, and when it is removed
//! (`docs/reference/lab2/membership.md S1` to S10).

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::FORGOTTEN_PER_FRAME_MAX;

use super::Members;
use crate::lab2::machine::{Content, Context, Output, Timer, Writer};
use crate::throttle::Throttle;
use crate::time::Instant;

/// Each member broadcasts at least once in this number of heartbeat periods. In a ring with more members than this
/// number, the number of periods equals the number of members.
const SIGN_OF_LIFE_PERIODS: usize = 64;
/// The number of WAITER_TIMEOUTs after the removal of a member during which tables do not bring it back.
const TOMBSTONE_TIMEOUTS: u32 = 16;

/// Length of a FORGET payload without members, in bytes.
const FORGET_HEADER_LEN: usize = 10;

/// Data about members that this node has not heard, and about the last broadcasts of this node.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Silence {
    /// Time of this node's last broadcast that shows that this node is alive.
    last_broadcast: Option<Instant>,
    /// If several handovers in a row have failed, the time of the first of them. While this time is set, this node
    /// offers the token only to members that it has heard at this time or later.
    doubted_since: Option<Instant>,
    /// Time at which this node, as OWNER, last searched for members that must be removed.
    last_sweep: Option<Instant>,
    /// The members that the next FORGET names. The next FORGET waits in the send queue.
    forget_list: Vec<MacAddr>,
    /// Limits how often this node announces that its MTU is too small for PING.
    mtu_announcements: Throttle,
}

impl Silence {
    /// Forgets the last broadcast, so that the next answer to a heartbeat is a broadcast.
    pub(super) fn forget_broadcast(&mut self) {
        self.last_broadcast = None;
    }

    /// Writes ages. All ages above `silence` are written as the same value.
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

    /// Returns the members that the FORGET in the send queue names.
    pub(crate) fn forget_list(&self) -> &[MacAddr] {
        &self.silence.forget_list
    }

    /// Clears the list after FORGET was sent or refused.
    pub(crate) fn on_forget_sent(&mut self) {
        self.silence.forget_list.clear();
    }

    /// Returns the time after which a member counts as silent in a small ring. `heartbeat` is the heartbeat period of
    /// the member.
    pub(crate) fn silent_after_in_small_ring(heartbeat: Duration) -> Duration {
        let periods = u32::try_from(SIGN_OF_LIFE_PERIODS * 2).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// Returns the longest time between two broadcasts of a member, provided that the member hears heartbeats.
    pub(crate) fn sign_of_life_period(&self, context: &Context) -> Duration {
        self.sign_of_life_period_for(context.constants().heartbeat)
    }

    fn sign_of_life_period_for(&self, heartbeat: Duration) -> Duration {
        // In a large ring, all members together send one such broadcast per heartbeat period, so the load does not grow
        // with the ring.
        let periods = self.count_heard().max(SIGN_OF_LIFE_PERIODS);
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        heartbeat.saturating_mul(periods)
    }

    /// Returns the time after which a member counts as silent. `heartbeat` is the heartbeat period of the member.
    pub(crate) fn silent_after_for(&self, heartbeat: Duration) -> Duration {
        // The factor 2 allows for one lost broadcast.
        self.sign_of_life_period_for(heartbeat).saturating_mul(2)
    }

    /// Returns the time after which a member counts as silent.
    pub(crate) fn silent_after(&self, context: &Context) -> Duration {
        self.sign_of_life_period(context).saturating_mul(2)
    }

    /// Returns the earliest permitted time of a member's last frame. If this node last heard a member earlier, it does
    /// not offer the token to this member.
    pub(crate) fn eligible_since(&self, context: &Context) -> Instant {
        let alive = context.now().before(self.silent_after(context));
        let doubted_since = self.silence.doubted_since;
        doubted_since.map_or(alive, |doubted_since| alive.max(doubted_since))
    }

    /// Stops offers to members that this node has not heard since `since`, the time at which the first failed handover
    /// began.
    pub(crate) fn set_doubt(&mut self, since: Instant) {
        // Thousands of members may be dead, and each offer to a dead member costs time. This node soon hears every
        // member that is alive.
        self.silence.doubted_since = Some(since);
    }

    /// Returns the receiver of a PING that answers a heartbeat. Usually, the receiver is the holder. If this node has
    /// sent no broadcast for a long time, all members receive the PING.
    pub(crate) fn ping_receiver(&self, context: &Context, holder: MacAddr) -> MacAddr {
        let most = self.sign_of_life_period(context);
        let quiet = self
            .silence
            .last_broadcast
            .map(|at| context.now().since(at));
        let is_due = quiet.is_none_or(|quiet| {
            quiet >= most / 2 && {
                // The rank spreads the broadcasts of the members over half of the period, so they do not all send at
                // once.
                let rank = self.own_rank(context);
                let members = u32::try_from(self.table.len().max(1)).unwrap_or(u32::MAX);
                let turn = most / 2 / members * rank.min(members);
                quiet >= most / 2 + turn
            }
        });
        if is_due { MacAddr::BROADCAST } else { holder }
    }

    /// Whether a member other than this node is gone: it has left, or this node has not heard it for `silence`.
    pub(crate) fn is_gone(&self, context: &Context, mac: MacAddr, silence: Duration) -> bool {
        let alive = context.now().before(silence);
        let peer = self.peer(mac);
        mac != context.me() && peer.is_some_and(|peer| peer.is_gone(alive))
    }

    /// Removes members and adds tombstones for them. `macs` must be sorted.
    pub(crate) fn remove(&mut self, context: &Context, macs: &[MacAddr], announce: bool) {
        self.table.remove(macs);
        let now = context.now();
        let until = now + context.waiter_timeout() * TOMBSTONE_TIMEOUTS;
        self.table.removed.add(macs, now, until, announce);
    }

    /// Schedules the removal of silent members, and the announcements that are due. Call this function after this node
    /// sends a heartbeat.
    pub(crate) fn on_heartbeat_sent(&mut self, context: &Context, out: &mut Output) {
        let now = context.now();
        // The first heartbeat only starts the first period: a node that has just been started does not know which
        // members are silent.
        let last = *self.silence.last_sweep.get_or_insert(now);
        let rested = now.since(last) >= self.sign_of_life_period(context);
        if rested && context.constants().forget.is_some() {
            // The timer delays the search. A received frame may have caused this heartbeat, and then this frame has
            // already caused all its answers.
            out.set(Timer::Members, now);
        }
        self.schedule_forget(context, out);
        self.schedule_mtu_announcement(context, out);
    }

    /// Schedules the announcement of an MTU that is too small for PING. This node repeats the announcement, because new
    /// members, and members from the other side of a split, missed the earlier announcements. Until such members know
    /// the MTU, their tokens do not reach this node.
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

    /// If another member still names a removed member, schedules FORGET. Because of the schedule, this node sends
    /// FORGET even if it hands the token over before its next heartbeat.
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

    /// Returns the members that must be removed because they were silent for `--forget-after`. Returns at most as many
    /// members as one FORGET can name.
    pub(crate) fn take_expired(&mut self, context: &Context) -> Vec<MacAddr> {
        let Some(after) = context.constants().forget else {
            return Vec::new();
        };
        let now = context.now();
        let (rests, after) = (
            self.sign_of_life_period(context),
            // A short `--forget-after` must not remove members that are alive and only send rarely.
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
        // If the list is full, more members may have expired, and the search continues with the next heartbeat.
        if macs.len() < most {
            self.silence.last_sweep = Some(now);
        }
        macs
    }

    /// Broadcasts FORGET for removed members that may still be in the tables of other members.
    pub(crate) fn broadcast_forget(&mut self, context: &Context, out: &mut Output) {
        // A FORGET in the send queue reads the list only when it is encoded, so the list must not change before then.
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

    /// Returns the number of members that one FORGET can name.
    fn forgotten_per_frame(&self, context: &Context) -> usize {
        let (mtu, _) = self.smallest_mtu(context);
        let fitting = mtu.saturating_sub(FORGET_HEADER_LEN) / size_of::<MacAddr>();
        fitting.clamp(1, FORGOTTEN_PER_FRAME_MAX)
    }

    /// Returns those members of a FORGET that have left, or that this node has not heard for WAITER_TIMEOUT. The result
    /// is sorted by MAC.
    pub(crate) fn select_gone(&self, context: &Context, members: &[MacAddr]) -> Vec<MacAddr> {
        // The limit is shorter than the time after which a member counts as silent. With that longer time, a frame that
        // only this node heard would keep the member in only this node's table.
        let mut gone: Vec<MacAddr> = members.to_vec();
        gone.retain(|&mac| self.is_gone(context, mac, context.waiter_timeout()));
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Returns the member with the longest silence. If the table is full, a new member replaces this member.
    pub(crate) fn longest_silent_member(&self, context: &Context) -> Option<MacAddr> {
        let alive = context.now().before(self.silent_after(context));
        let gone = self.others(context).filter(|(_, peer)| peer.is_gone(alive));
        let longest = gone.min_by_key(|(_, peer)| peer.silent_since());
        longest.map(|(mac, _)| mac)
    }

    /// Returns one silent member. This node's cards name this member during the current heartbeat period.
    pub(crate) fn next_silent_member(&self, context: &Context) -> Option<MacAddr> {
        let members = self.table.members().iter().zip(self.table.peers());
        let silent = members.filter(|(_, peer)| peer.told_silent && !peer.left);
        let count = silent.clone().count();
        // The time selects the member, so this node need not store a position.
        let period = context.constants().heartbeat.as_nanos().max(1);
        let turn = u128::from(context.now().as_nanos()) / period;
        let place = usize::try_from(turn.checked_rem(count as u128)?).ok()?;
        silent.map(|(member, _)| member.mac).nth(place)
    }
}
