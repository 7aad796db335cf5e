//! Keeping all tables equal (`docs/protocol.md`, "Membership").

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERNET_HEADER_LEN, MAX_FRAME_LEN, MAX_MEMBERS_PER_FRAME, Member, NO_IP,
};

use super::Members;
use super::peer::Notes;
use super::table::Inserted;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::{Event, State};
use crate::throttle::Throttle;

/// Bytes of a RING_MEMBERS payload before its first member.
const MEMBERS_HEAD: usize =
    MAX_FRAME_LEN - ETHERNET_HEADER_LEN - MAX_MEMBERS_PER_FRAME * size_of::<Member>();

/// A member that is heard has so many WAITER_TIMEOUTs to say which of two addresses is its own.
const DISPUTE: u32 = 4;

/// What a frame's author is to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Known,
    New,
    /// It is not in the table, which is full.
    NoRoom,
}

impl Members {
    /// Notes that a frame of a member came, be it that it only asks for the token.
    pub(crate) fn note_author(&mut self, envelope: Envelope, only_wants: bool) -> Author {
        self.table.removed.is_back(envelope.from);
        let (at, author) = match self.table.insert(envelope.from) {
            Inserted::Known(at) => (at, Author::Known),
            Inserted::New(at) => {
                self.table.peer_at(at).owed_ping = envelope.broadcast && !self.is_large();
                (at, Author::New)
            }
            Inserted::Full => return Author::NoRoom,
        };
        self.table.heard(at, envelope.at, only_wants);
        author
    }

    /// Answers a new member's broadcast with PING, unless the frame has been answered as
    /// often as one may be; then its next broadcast is. In a large ring the holder's table tells of it.
    pub(crate) fn greet(&mut self, context: &Context, out: &mut Output, envelope: Envelope) {
        if !envelope.broadcast || !out.may_reply() {
            return;
        }
        let is_large = self.is_large();
        let Some(peer) = self.table.peer_mut(envelope.from) else {
            return;
        };
        if std::mem::take(&mut peer.owed_ping) && !is_large {
            self.send_ping(context, out, envelope.from);
        }
    }

    /// A member has been greeted with another frame.
    pub(crate) fn note_greeted(&mut self, mac: MacAddr) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.owed_ping = false;
        }
    }

    /// PING: a member is the authority on its own ip. Returns the ip that it had before, if that is another.
    pub(crate) fn learn_ip(&mut self, mac: MacAddr, ip: [u8; 16]) -> Option<[u8; 16]> {
        let at = self.table.find(mac)?;
        self.table.peer_at(at).has_none = ip == NO_IP;
        let before = self.table.members()[at].ip;
        self.table.set_ip(at, ip).then_some(before)
    }

    /// Sets this node's own ip, and returns whether that is another one.
    pub(crate) fn set_own_ip(&mut self, context: &Context) -> bool {
        let at = self.table.find(context.me());
        at.is_some_and(|at| self.table.set_ip(at, context.ip()))
    }

    /// The ip of a member.
    pub(crate) fn ip_of(&self, mac: MacAddr) -> Option<[u8; 16]> {
        let at = self.table.find(mac)?;
        Some(self.table.members()[at].ip)
    }

    /// Shows an OWNER's table to a member whose PING tells of another one. All others see that somebody asks.
    pub(crate) fn compare_with_asker(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        (envelope, digest): (Envelope, Digest),
    ) {
        if !self.has(envelope.from) {
        } else if state != State::Owner {
            self.overhear_ping(out, envelope, digest);
        } else if self.table.differs(digest) {
            if self.is_large() {
                self.show_more(context, out);
            } else {
                self.send_table(context, out, envelope.from, |notes| &mut notes.answered);
            }
        }
    }

    /// A WAITER whose table differs from the holder's makes itself known to it. In a small ring an
    /// OWNER does, too: where a hand-over takes longer than a round all are OWNER all the time.
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
            State::Owner => !self.is_large() && out.may_reply(),
            State::Looser | State::Generating => false,
        };
        if !asks || !self.table.differs(digest) {
            return;
        }
        if self.is_large() {
            self.plan_to_ask(context, out, digest);
        } else if !answered && self.may_ping(context, envelope.from) {
            self.send_ping(context, out, envelope.from);
        }
    }

    pub(crate) fn send_ping(&mut self, context: &Context, out: &mut Output, to: MacAddr) {
        self.note_greeted(to);
        if let Some(notes) = self.table.notes_mut(to) {
            notes.pinged.note(context.now());
        }
        out.send(to, Content::Ping);
    }

    /// RING_MEMBERS: the union of both tables, and the own one back if that is not the sender's.
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
            self.let_decide(context, out, mac, envelope);
        }
        if envelope.broadcast {
            self.part_was_shown(context, out, state, envelope, digest, members);
            if !self.is_follower(context, envelope.from) {
                return;
            }
        }
        // The rest of a table that did not fit one frame may be what is still missing.
        let more_to_come =
            members.len() == MAX_MEMBERS_PER_FRAME && self.table.size() < digest.size;
        if !more_to_come && self.table.differs(digest) {
            self.send_table(context, out, envelope.from, |notes| &mut notes.returned);
        }
    }

    /// Adds what is new, and returns a third party of which both tables hold an ip, but not the
    /// same.
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
            match self.table.place(offered.mac, next) {
                Ok(at) => {
                    next = at + 1;
                    let held = self.table.members()[at];
                    if held.ip != offered.ip && held.mac != context.me() {
                        let (ip, is_disputed) = self.prefer(context, envelope, at, &held, offered);
                        self.table.set_ip(at, ip);
                        disputed = disputed.or(is_disputed.then_some(held.mac));
                    }
                }
                Err(at) if !self.table.removed.keeps_out(offered.mac, now) => {
                    next = at + 1;
                    let mac = offered.mac;
                    let event = match self.table.insert_at(at, *offered) {
                        Inserted::Full => Event::TableFull { author: mac },
                        Inserted::New(at) | Inserted::Known(at) => {
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

    /// Chooses between two addresses of a third party, and says whether that is to be asked.
    fn prefer(
        &mut self,
        context: &Context,
        envelope: Envelope,
        at: usize,
        held: &Member,
        offered: &Member,
    ) -> ([u8; 16], bool) {
        let own_word = held.mac == envelope.from && offered.ip != NO_IP;
        if own_word || held.ip == NO_IP && !self.table.peers()[at].has_none {
            return (offered.ip, false);
        }
        if offered.ip == NO_IP {
            // It has heard for itself what was shown to all.
            return (held.ip, !envelope.broadcast);
        }
        let now = context.now();
        let patience = context.waiter_timeout();
        let long_ago = now.before(patience);
        let seen = self.table.peers()[at].last_seen();
        let heard_lately = seen.is_some_and(|seen| seen >= long_ago);
        let decides_by = if heard_lately {
            now.before(patience * DISPUTE)
        } else {
            long_ago
        };
        let lasts = self.table.notes_mut(held.mac).is_some_and(|notes| {
            let since = *notes.disputed_since.get_or_insert(now);
            since <= decides_by
        });
        // If it does not decide, perhaps it is dead, or does not know how: all must come to the same
        // choice by themselves.
        let ip = if lasts {
            held.ip.max(offered.ip)
        } else {
            held.ip
        };
        (ip, true)
    }

    /// Shows a member the own table from its entry on: if that is wrong it will tell all. Who has shown
    /// another address to all is shown it too, since perhaps nobody decides, and this node is not of
    /// those that answer.
    fn let_decide(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        envelope: Envelope,
    ) {
        self.table.sort();
        let Some(first) = self.table.find(mac) else {
            return;
        };
        if out.may_reply() && self.once_a_period(context, mac, |notes| &mut notes.disputed) {
            out.send(mac, Content::RingMembers { first });
            if envelope.broadcast && out.may_reply() {
                out.send(envelope.from, Content::RingMembers { first });
            }
        }
    }

    /// Somebody holds a wrong ip for this node, or does not know it: all are told.
    pub(crate) fn correct_own_entry(&mut self, context: &Context, out: &mut Output) {
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if out.may_reply() && self.corrections.allow(now, heartbeat) {
            out.broadcast(Content::Ping);
        }
    }

    /// LEAVING: the member is passed over until it is heard again.
    pub(crate) fn leave(&mut self, mac: MacAddr) {
        self.set_wants(mac, false);
        self.set_paused(mac, false);
        self.table.set_profile(mac, None);
        if let Some(at) = self.table.find(mac) {
            self.table.peer_at(at).penalty.leave();
            self.table.set_left(at, true);
        }
    }

    /// This node leaves an address, where nobody answers any more.
    pub(crate) fn leave_address(&mut self, context: &Context, old: MacAddr) {
        if let Some(at) = self.table.find(old) {
            self.table.set_left(at, true);
            let peer = self.table.peer_at(at);
            peer.penalty.leave();
            peer.seen = context.now().as_nanos();
        }
    }

    /// This node has an address. Returns whether that is a new member.
    pub(crate) fn take_address(&mut self, mac: MacAddr) -> bool {
        if let Inserted::New(_) = self.table.insert_own(mac) {
            return true;
        }
        if let Some(at) = self.table.find(mac) {
            // The address is in use again.
            self.table.peer_at(at).penalty.heard();
            self.table.set_left(at, false);
        }
        false
    }

    /// Sends the table, once a period for each cause, as far as the frame in hand may be
    /// answered; the next time goes on where this one ended.
    fn send_table(
        &mut self,
        context: &Context,
        out: &mut Output,
        to: MacAddr,
        cause: fn(&mut Notes) -> &mut Throttle,
    ) {
        if !out.may_reply() || !self.once_a_period(context, to, cause) {
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

    /// The part of the table that begins at `first` and fits one frame.
    pub(crate) fn table_part(&self, context: &Context, first: usize) -> &[Member] {
        let members = self.table.members();
        let first = first.min(members.len());
        let last = (first + self.members_per_frame(context)).min(members.len());
        &members[first..last]
    }

    pub(super) fn members_per_frame(&self, context: &Context) -> usize {
        let (mtu, _) = self.smallest_mtu(context);
        let fitting = mtu.saturating_sub(MEMBERS_HEAD) / size_of::<Member>();
        fitting.clamp(1, MAX_MEMBERS_PER_FRAME)
    }

    /// Whether something may be done for a member; if so it counts as done. Never for one
    /// that the table had no room for.
    fn once_a_period(
        &mut self,
        context: &Context,
        mac: MacAddr,
        what: fn(&mut Notes) -> &mut Throttle,
    ) -> bool {
        let now = context.now();
        let heartbeat = context.constants().heartbeat;
        let notes = self.table.notes_mut(mac);
        notes.is_some_and(|notes| what(notes).allow(now, heartbeat))
    }

    /// Whether a member may be told that its table differs, once a period; if so it counts as done.
    pub(crate) fn may_ping(&mut self, context: &Context, mac: MacAddr) -> bool {
        self.once_a_period(context, mac, |notes| &mut notes.pinged)
    }

    /// Whether an offer to a member that is paused may count as failed, once a period; if so it counts as done.
    pub(crate) fn may_fail_paused(&mut self, context: &Context, mac: MacAddr) -> bool {
        self.once_a_period(context, mac, |notes| &mut notes.refused)
    }
}
