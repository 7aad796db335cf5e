//! Synchronization of the members' tables (`docs/protocol.md`, "Membership").

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

/// For this many WAITER_TIMEOUTs a member that is heard may correct its disputed IP address.
const DISPUTE_TIMEOUTS: u32 = 4;

/// Whether the table knows a frame's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorStatus {
    Known,
    New,
    /// It is unknown, and the table is full.
    NoRoom,
}

impl Members {
    /// Notes the author of a frame, which may only ask for the token.
    pub(crate) fn note_author(&mut self, envelope: Envelope, only_wants: bool) -> AuthorStatus {
        self.table.removed.mark_returned(envelope.from);
        let (at, author) = match self.table.insert(envelope.from) {
            Insertion::Known(at) => (at, AuthorStatus::Known),
            Insertion::New(at) => {
                // A unicast comes from a node that knows this one already.
                self.table.peer_at(at).owed_ping = envelope.broadcast && !self.is_large();
                (at, AuthorStatus::New)
            }
            Insertion::Full => return AuthorStatus::NoRoom,
        };
        self.table.note_heard(at, envelope.at, only_wants);
        author
    }

    /// Answers a new member's broadcast with PING, or its next one if the frame has had its two answers.
    pub(crate) fn greet(&mut self, context: &Context, out: &mut Output, envelope: Envelope) {
        if !envelope.broadcast || !out.may_reply() {
            return;
        }
        let is_large = self.is_large();
        let Some(peer) = self.table.peer_mut(envelope.from) else {
            return;
        };
        // In a large ring, the holder's table introduces the members.
        if std::mem::take(&mut peer.owed_ping) && !is_large {
            self.send_ping(context, out, envelope.from);
        }
    }

    /// Notes that a member was sent another frame that greets it.
    pub(crate) fn note_greeted(&mut self, mac: MacAddr) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.owed_ping = false;
        }
    }

    /// Takes a member's IP address from its PING. Returns the previous one if it differs.
    pub(crate) fn learn_ip(&mut self, mac: MacAddr, ip: [u8; 16]) -> Option<[u8; 16]> {
        let at = self.table.find(mac)?;
        // Then another member's table must not fill it in.
        self.table.peer_at(at).has_no_ip = ip == NO_IP;
        let before = self.table.members()[at].ip;
        self.table.set_ip(at, ip).then_some(before)
    }

    /// Sets this node's IP address. Returns whether it has changed.
    pub(crate) fn set_own_ip(&mut self, context: &Context) -> bool {
        let at = self.table.find(context.me());
        at.is_some_and(|at| self.table.set_ip(at, context.ip()))
    }

    /// Returns the IP address of a member.
    pub(crate) fn ip_of(&self, mac: MacAddr) -> Option<[u8; 16]> {
        let at = self.table.find(mac)?;
        Some(self.table.members()[at].ip)
    }

    /// Sends an OWNER's table to a member whose PING has another digest. Other nodes note that it asks.
    pub(crate) fn compare_with_asker(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        (envelope, digest): (Envelope, Digest),
    ) {
        // The author of a frame that did not fit the table has no notes, and so no limit on answers.
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

    /// Sends PING to a holder whose table differs. In a small ring an OWNER does this too.
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
            // Where a handover takes longer than a rotation, all members are OWNER all the time.
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

    /// Handles RING_MEMBERS: merges the tables, and returns this node's table if they still differ.
    pub(crate) fn on_ring_members(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        envelope: Envelope,
        (digest, members): (Digest, &[Member]),
    ) {
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
            if !self.is_follower(context, envelope.from) {
                return;
            }
        }
        // The rest of a long table may be on its way.
        let more_to_come =
            members.len() == MEMBERS_PER_FRAME_MAX && self.table.size() < digest.size;
        if !more_to_come && self.table.differs(digest) {
            self.send_table(context, out, envelope.from, |notes| &mut notes.returns);
        }
    }

    /// Merges a received table. Returns a third member with different IP addresses in the two tables.
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
                // Without tombstones a forgotten member would wander from table to table without end.
                Err(at) if !self.table.removed.block_return(offered.mac, now) => {
                    next = at + 1;
                    let mac = offered.mac;
                    let event = match self.table.insert_at(at, *offered) {
                        Insertion::Full => Event::TableFull { author: mac },
                        Insertion::New(at) | Insertion::Known(at) => {
                            // Its time until it is forgotten counts from here on.
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

    /// Chooses between two IP addresses of a third member. Returns whether that member must be asked.
    fn choose_ip(
        &mut self,
        context: &Context,
        envelope: Envelope,
        at: usize,
        held: &Member,
        offered: &Member,
    ) -> ([u8; 16], bool) {
        let own_word = held.mac == envelope.from && offered.ip != NO_IP;
        if own_word || held.ip == NO_IP && !self.table.peers()[at].has_no_ip {
            return (offered.ip, false);
        }
        if offered.ip == NO_IP {
            // The member has received this broadcast itself, and will correct it.
            return (held.ip, !envelope.broadcast);
        }
        let now = context.now();
        let waiter_timeout = context.waiter_timeout();
        let long_ago = now.before(waiter_timeout);
        let seen = self.table.peers()[at].last_seen();
        let heard_lately = seen.is_some_and(|seen| seen >= long_ago);
        let decides_by = if heard_lately {
            now.before(waiter_timeout * DISPUTE_TIMEOUTS)
        } else {
            long_ago
        };
        let lasts = self.table.notes_mut(held.mac).is_some_and(|notes| {
            let since = *notes.disputed_since.get_or_insert(now);
            since <= decides_by
        });
        // The member may be dead, or may not know how to decide. Then all members must choose the same address.
        let ip = if lasts {
            held.ip.max(offered.ip)
        } else {
            held.ip
        };
        (ip, true)
    }

    /// Sends a member this node's table, from its entry on, so that it corrects a wrong IP address.
    fn ask_ip_owner(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        envelope: Envelope,
    ) {
        // A part begins at a place, and places change when the table is sorted.
        self.table.sort();
        let Some(first) = self.table.find(mac) else {
            return;
        };
        if out.may_reply() && self.allow_once_a_period(context, mac, |notes| &mut notes.disputes) {
            out.send(mac, Content::RingMembers { first });
            if envelope.broadcast && out.may_reply() {
                // Perhaps the member does not decide, and this node is not one of the eight that answer the author.
                out.send(envelope.from, Content::RingMembers { first });
            }
        }
    }

    /// Broadcasts PING, because a table has a wrong IP address for this node or does not list it.
    pub(crate) fn correct_own_entry(&mut self, context: &Context, out: &mut Output) {
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if out.may_reply() && self.corrections.try_take(now, heartbeat) {
            out.broadcast(Content::Ping);
        }
    }

    /// Handles LEAVING: the member is passed over until it is heard again.
    pub(crate) fn leave(&mut self, mac: MacAddr) {
        self.set_wants(mac, false);
        self.set_paused(mac, false);
        self.table.set_profile(mac, None);
        if let Some(at) = self.table.find(mac) {
            self.table.peer_at(at).penalty.on_departure();
            self.table.set_left(at, true);
        }
    }

    /// Marks this node's old address as left: no node answers there.
    pub(crate) fn leave_address(&mut self, context: &Context, old: MacAddr) {
        if let Some(at) = self.table.find(old) {
            self.table.set_left(at, true);
            let peer = self.table.peer_at(at);
            // The address will not answer, so no offer must go there.
            peer.penalty.on_departure();
            peer.seen = context.now().as_nanos();
        }
    }

    /// Adds this node under its address. Returns whether the address is new.
    pub(crate) fn adopt_address(&mut self, mac: MacAddr) -> bool {
        if let Insertion::New(_) = self.table.insert_own(mac) {
            return true;
        }
        if let Some(at) = self.table.find(mac) {
            // The address is used again.
            self.table.peer_at(at).penalty.on_heard();
            self.table.set_left(at, false);
        }
        false
    }

    /// Sends the table in as many frames as the current frame may be answered with, once a period for each cause. The
    /// next call continues where this one ended.
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

    /// Returns the part of the table that begins at `first` and fits one frame.
    pub(crate) fn table_part(&self, context: &Context, first: usize) -> &[Member] {
        let members = self.table.members();
        let first = first.min(members.len());
        let last = (first + self.members_per_frame(context)).min(members.len());
        &members[first..last]
    }

    pub(super) fn members_per_frame(&self, context: &Context) -> usize {
        let (mtu, _) = self.smallest_mtu(context);
        let fitting = mtu.saturating_sub(RING_MEMBERS_HEADER_LEN) / size_of::<Member>();
        fitting.clamp(1, MEMBERS_PER_FRAME_MAX)
    }

    /// Returns whether an action for a member is allowed, once a period. If so, it counts as done. It is never allowed
    /// for a member that is not in the table.
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

    /// Returns whether a member may be sent PING because its table differs, once a period. If so, it counts as sent.
    pub(crate) fn allow_ping(&mut self, context: &Context, mac: MacAddr) -> bool {
        self.allow_once_a_period(context, mac, |notes| &mut notes.pings)
    }

    /// Returns whether an offer to a paused member may fail, once a period. If so, it counts as failed.
    pub(crate) fn allow_paused_failure(&mut self, context: &Context, mac: MacAddr) -> bool {
        self.allow_once_a_period(context, mac, |notes| &mut notes.refusals)
    }
}
