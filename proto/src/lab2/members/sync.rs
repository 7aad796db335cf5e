//! Synchronization of the members' tables (`docs/reference/lab2/membership.md M2` to M14).

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERNET_HEADER_LEN, FRAME_LEN_MAX, MEMBERS_PER_FRAME_MAX, Member, NO_IP,
};

use super::Members;
use super::peer::Notes;
use super::table::Insertion;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::{Event, State};
use crate::throttle::Throttle;

/// Length of a RING_MEMBERS payload without members, in bytes.
const RING_MEMBERS_HEADER_LEN: usize =
    FRAME_LEN_MAX - ETHERNET_HEADER_LEN - MEMBERS_PER_FRAME_MAX * size_of::<Member>();

/// If this node hears a member whose IP address is disputed, the member may correct the address for this number of
/// WAITER_TIMEOUTs.
const DISPUTE_TIMEOUTS: u32 = 4;

/// Result of searching the member table for the author of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorStatus {
    Known,
    New,
    /// The author is not in the table, and the table is full.
    NoRoom,
}

impl Members {
    /// Notes the author of a frame. `only_wants` states whether the frame only asks for the token.
    pub(crate) fn note_author(&mut self, envelope: Envelope, only_wants: bool) -> AuthorStatus {
        self.table.removed.mark_returned(envelope.from);
        let (at, author) = match self.table.insert(envelope.from) {
            Insertion::Known(at) => (at, AuthorStatus::Known),
            Insertion::New(at) => {
                // The author of a unicast frame already knows this node, so it needs no PING.
                self.table.peer_at(at).owed_ping = envelope.broadcast && !self.is_large();
                (at, AuthorStatus::New)
            }
            Insertion::Full => return AuthorStatus::NoRoom,
        };
        self.table.note_heard(at, envelope.at, only_wants);
        author
    }

    /// If a new member has sent a broadcast, answers the broadcast with PING. If the broadcast has already caused its
    /// two answers, this node sends PING after a later broadcast of the member.
    pub(crate) fn greet(&mut self, context: &Context, out: &mut Output, envelope: Envelope) {
        if !envelope.broadcast || !out.may_reply() {
            return;
        }
        let is_large = self.is_large();
        let Some(peer) = self.table.peer_mut(envelope.from) else {
            return;
        };
        // In a large ring, the holder's table introduces the members to each other.
        if std::mem::take(&mut peer.owed_ping) && !is_large {
            self.send_ping(context, out, envelope.from);
        }
    }

    /// Notes that this node greeted a member, with a PING or with another frame of the same effect.
    pub(crate) fn note_greeted(&mut self, mac: MacAddr) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.owed_ping = false;
        }
    }

    /// Stores a member's IP address from the member's PING. If the member had a different address before, returns this
    /// earlier address.
    pub(crate) fn learn_ip(&mut self, mac: MacAddr, ip: [u8; 16]) -> Option<[u8; 16]> {
        let at = self.table.find(mac)?;
        // If the member itself has announced that it has no address, another member's table must not add one.
        self.table.peer_at(at).has_no_ip = ip == NO_IP;
        let before = self.table.members()[at].ip;
        self.table.set_ip(at, ip).then_some(before)
    }

    /// Sets this node's IP address. Returns whether the IP address changed.
    pub(crate) fn set_own_ip(&mut self, context: &Context) -> bool {
        let at = self.table.find(context.me());
        at.is_some_and(|at| self.table.set_ip(at, context.ip()))
    }

    /// Returns the IP address of a member.
    pub(crate) fn ip_of(&self, mac: MacAddr) -> Option<[u8; 16]> {
        let at = self.table.find(mac)?;
        Some(self.table.members()[at].ip)
    }

    /// If this node is OWNER, and the digest in a member's PING differs from this node's digest, sends the table to the
    /// member. If this node is not OWNER, only notes the member's question.
    pub(crate) fn compare_with_asker(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        (envelope, digest): (Envelope, Digest),
    ) {
        // An author that did not fit the table has no notes, so its answers would have no limit.
        if !self.has(envelope.from) {
        } else if state != State::Owner {
            self.on_ping_overheard(out, envelope, digest);
        } else if self.table.differs(digest) {
            if self.is_large() {
                self.broadcast_parts(context, out);
            } else {
                self.send_table(context, out, envelope.from, |notes| &mut notes.answers);
            }
        }
    }

    /// If the table of a holder differs from this node's table, sends PING to the holder. In a small ring, this node
    /// sends the PING even as OWNER.
    pub(crate) fn compare_with_holder(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        (envelope, digest): (Envelope, Digest),
        answered: bool,
    ) {
        let asks = match state {
            State::Waiter => true,
            // If the delay of frames is longer than a tenure, every member may be OWNER at each time at which it
            // receives a frame. If an OWNER never asked, their tables would never become equal.
            State::Owner => !self.is_large() && out.may_reply(),
            State::Looser | State::Generating => false,
        };
        if !asks || !self.table.differs(digest) {
            return;
        }
        if self.is_large() {
            self.schedule_table_question(context, out, digest);
        } else if !answered && self.allow_ping(context, envelope.from) {
            self.send_ping(context, out, envelope.from);
        }
    }

    pub(crate) fn send_ping(&mut self, context: &Context, out: &mut Output, to: MacAddr) {
        self.note_greeted(to);
        if let Some(notes) = self.table.notes_mut(to) {
            notes.pings.record(context.now());
        }
        out.send(to, Content::Ping);
    }

    /// Handles RING_MEMBERS. Merges the received table into this node's table. If the tables still differ, sends this
    /// node's table to the author.
    pub(crate) fn on_ring_members(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        envelope: Envelope,
        (digest, members): (Digest, &[Member]),
    ) {
        // The merge comes first, because the digests must not differ only because of members that this frame adds.
        let disputed = self.merge(context, out, envelope, members);
        let me = context.me();
        if members
            .iter()
            .any(|member| member.mac == me && member.ip != context.ip())
        {
            self.correct_own_entry(context, out);
        }
        if let Some(mac) = disputed {
            self.ask_ip_owner(context, out, mac, envelope);
        }
        if envelope.broadcast {
            self.on_table_part(context, out, state, envelope, digest, members);
            // All members hear a broadcast part. If all returned their tables, each part would cost two frames per
            // member.
            if !self.counts_as_follower(context, envelope.from) {
                return;
            }
        }
        // A full frame may be followed by the rest of a long table, so this node does not compare yet.
        let more_to_come =
            members.len() == MEMBERS_PER_FRAME_MAX && self.table.size() < digest.size;
        if !more_to_come && self.table.differs(digest) {
            self.send_table(context, out, envelope.from, |notes| &mut notes.returns);
        }
    }

    /// Merges a received table. If the two tables have different IP addresses for a member, this node may have to ask
    /// this member. Returns the first such member.
    fn merge(
        &mut self,
        context: &Context,
        out: &mut Output,
        envelope: Envelope,
        members: &[Member],
    ) -> Option<MacAddr> {
        let now = context.now();
        let mut disputed = None;
        let mut next = 0;
        for offered in members {
            // Both tables are sorted, so the next member of the frame is usually at the next place.
            match self.table.find_place(offered.mac, next) {
                Ok(at) => {
                    next = at + 1;
                    let held = self.table.members()[at];
                    if held.ip != offered.ip && held.mac != context.me() {
                        let (ip, is_disputed) =
                            self.choose_ip(context, envelope, at, &held, offered);
                        self.table.set_ip(at, ip);
                        disputed = disputed.or(is_disputed.then_some(held.mac));
                    }
                }
                // Without tombstones, tables would pass a forgotten member from node to node indefinitely.
                Err(at) if !self.table.removed.block_return(offered.mac, now) => {
                    next = at + 1;
                    let mac = offered.mac;
                    let event = match self.table.insert_at(at, *offered) {
                        Insertion::Full => Event::TableFull { author: mac },
                        Insertion::New(at) | Insertion::Known(at) => {
                            // The time until the member is forgotten counts from now.
                            self.table.peer_at(at).seen = now.as_nanos();
                            Event::MemberAdded {
                                mac,
                                members: self.table.len(),
                            }
                        }
                    };
                    out.event(event);
                }
                Err(at) => next = at,
            }
        }
        disputed
    }

    /// Chooses between two IP addresses that two tables have for one member. Also returns whether this node must ask
    /// the member for the right address.
    fn choose_ip(
        &mut self,
        context: &Context,
        envelope: Envelope,
        at: usize,
        held: &Member,
        offered: &Member,
    ) -> ([u8; 16], bool) {
        let own_word = held.mac == envelope.from && offered.ip != NO_IP;
        // The author of the frame knows its own address. And any address is better than none, unless the member itself
        // announced that it has none.
        if own_word || held.ip == NO_IP && !self.table.peers()[at].has_no_ip {
            return (offered.ip, false);
        }
        if offered.ip == NO_IP {
            // The member has received this broadcast too, and corrects the entry itself.
            return (held.ip, !envelope.broadcast);
        }
        let now = context.now();
        let waiter_timeout = context.waiter_timeout();
        let long_ago = now.before(waiter_timeout);
        let seen = self.table.peers()[at].last_seen();
        let heard_lately = seen.is_some_and(|seen| seen >= long_ago);
        // A member that is heard gets more time, because it can still announce the right address.
        let decides_by = if heard_lately {
            now.before(waiter_timeout * DISPUTE_TIMEOUTS)
        } else {
            long_ago
        };
        let lasts = self.table.notes_mut(held.mac).is_some_and(|notes| {
            let since = *notes.disputed_since.get_or_insert(now);
            since <= decides_by
        });
        // The member may be dead, or may never announce which address is right. Then all members must choose the same
        // address, or their tables stay different.
        let ip = if lasts {
            held.ip.max(offered.ip)
        } else {
            held.ip
        };
        (ip, true)
    }

    /// Sends a part of this node's table to a member. The part begins with the entry of this member, so that the member
    /// can correct a wrong IP address.
    fn ask_ip_owner(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        envelope: Envelope,
    ) {
        // A later sort would change the place at which the part begins.
        self.table.sort();
        let Some(first) = self.table.find(mac) else {
            return;
        };
        if out.may_reply() && self.allow_once_a_period(context, mac, |notes| &mut notes.disputes) {
            out.send(mac, Content::RingMembers { first });
            if envelope.broadcast && out.may_reply() {
                // The member may not correct the address, and this node may not be one of the eight that answer the
                // author. In that case, only this frame informs the author about the other address.
                out.send(envelope.from, Content::RingMembers { first });
            }
        }
    }

    /// Broadcasts PING. Call this function when another table does not contain this node, or contains a wrong IP
    /// address for it.
    pub(crate) fn correct_own_entry(&mut self, context: &Context, out: &mut Output) {
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if out.may_reply() && self.corrections.try_take(now, heartbeat) {
            out.broadcast(Content::Ping);
        }
    }

    /// Handles LEAVING. From now on, this node skips the member until it hears the member again.
    pub(crate) fn leave(&mut self, mac: MacAddr) {
        self.set_wants(mac, false);
        // If the member comes back, it may have been restarted without the pause.
        self.set_paused(mac, false);
        self.set_pause(mac, None);
        self.set_preference(mac, 0);
        self.table.set_profile(mac, None);
        if let Some(at) = self.table.find(mac) {
            self.table.peer_at(at).penalty.on_departure();
            self.table.set_left(at, true);
        }
    }

    /// Notes that the member with this node's old address left, because no node answers at this address.
    pub(crate) fn leave_address(&mut self, context: &Context, old: MacAddr) {
        if let Some(at) = self.table.find(old) {
            self.table.set_left(at, true);
            let peer = self.table.peer_at(at);
            // No node answers at this address, so this node must not offer the token to it.
            peer.penalty.on_departure();
            // This node never received a frame from its old address, so the silence of this address must count from
            // now.
            peer.seen = context.now().as_nanos();
        }
    }

    /// Adds this node to the table under its new address. Returns whether the address is new.
    pub(crate) fn adopt_address(&mut self, mac: MacAddr) -> bool {
        if let Insertion::New(_) = self.table.insert_own(mac) {
            return true;
        }
        if let Some(at) = self.table.find(mac) {
            // This node has returned to an address that it had left before.
            self.table.peer_at(at).penalty.on_heard();
            self.table.set_left(at, false);
        }
        false
    }

    /// Sends the table to a member. Sends as many frames as this node may still send in answer to the current frame.
    /// Sends the table at most once per period for each cause. The next call continues after the last part.
    fn send_table(
        &mut self,
        context: &Context,
        out: &mut Output,
        to: MacAddr,
        cause: fn(&mut Notes) -> &mut Throttle,
    ) {
        if !out.may_reply() || !self.allow_once_a_period(context, to, cause) {
            return;
        }
        let (len, part) = (self.table.len(), self.members_per_frame(context));
        let mut frames = len.div_ceil(part).min(out.replies_left());
        while frames > 0 {
            let Some(notes) = self.table.notes_mut(to) else {
                return;
            };
            let first = if notes.cursor < len { notes.cursor } else { 0 };
            notes.cursor = first + part;
            out.send(to, Content::RingMembers { first });
            frames -= 1;
        }
    }

    /// Returns the part of the table that begins at place `first`. The part contains as many members as fit into one
    /// frame.
    pub(crate) fn table_part(&self, context: &Context, first: usize) -> &[Member] {
        let members = self.table.members();
        let first = first.min(members.len());
        let last = (first + self.members_per_frame(context)).min(members.len());
        &members[first..last]
    }

    pub(super) fn members_per_frame(&self, context: &Context) -> usize {
        let (mtu, _) = self.smallest_mtu(context);
        // A frame must reach every member, even the member with the smallest MTU.
        let fitting = mtu.saturating_sub(RING_MEMBERS_HEADER_LEN) / size_of::<Member>();
        fitting.clamp(1, MEMBERS_PER_FRAME_MAX)
    }

    /// Returns whether an action for a member is allowed now. Each action is allowed once per period. If this function
    /// allows the action, the action counts as done. For an address that is not in the table, no action is allowed.
    fn allow_once_a_period(
        &mut self,
        context: &Context,
        mac: MacAddr,
        what: fn(&mut Notes) -> &mut Throttle,
    ) -> bool {
        let now = context.now();
        let heartbeat = context.constants().heartbeat;
        let notes = self.table.notes_mut(mac);
        notes.is_some_and(|notes| what(notes).try_take(now, heartbeat))
    }

    /// Returns whether this node may send PING to a member because their tables differ. One such PING is allowed per
    /// period. If the PING is allowed, it counts as sent.
    pub(crate) fn allow_ping(&mut self, context: &Context, mac: MacAddr) -> bool {
        self.allow_once_a_period(context, mac, |notes| &mut notes.pings)
    }

    /// Returns whether an offer may fail because its member is paused. Each paused member may cause one failed offer
    /// per period. If the failure is allowed, the offer counts as failed.
    pub(crate) fn allow_paused_failure(&mut self, context: &Context, mac: MacAddr) -> bool {
        self.allow_once_a_period(context, mac, |notes| &mut notes.refusals)
    }
}
