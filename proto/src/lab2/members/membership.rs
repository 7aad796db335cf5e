//! Keeping all tables equal (`docs/protocol.md`, "Membership").

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERNET_HEADER_LEN, MAX_FRAME_LEN, MAX_MEMBERS_PER_FRAME, Member, NO_IP,
};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::peer::Notes;
use crate::lab2::members::table::Inserted;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Event, Lab2};
use crate::throttle::Throttle;

/// Bytes of a RING_MEMBERS payload before its first member.
const MEMBERS_HEAD: usize =
    MAX_FRAME_LEN - ETHERNET_HEADER_LEN - MAX_MEMBERS_PER_FRAME * size_of::<Member>();

/// A member that is heard has so many WAITER_TIMEOUTs to say which of two addresses is its own.
const DISPUTE: u32 = 4;

impl Lab2 {
    /// A member is new in the table. An OWNER that was alone has somebody to pass to now.
    pub(crate) fn member_added(&mut self, mac: MacAddr) {
        self.event(Event::MemberAdded {
            mac,
            members: self.table.len(),
        });
        if self.may_pass() && !self.out.is_set(Timer::Pass) {
            let pause = self.before_the_next_round();
            self.timer_in(Timer::Pass, pause);
        }
    }

    /// PING: a member is the authority on its own ip.
    pub(crate) fn on_ping(&mut self, envelope: Envelope, digest: Digest, ip: [u8; 16]) {
        let Some(at) = self.table.find(envelope.from) else {
            return;
        };
        self.table.peer_at(at).has_none = ip == NO_IP;
        let before = self.table.members()[at].ip;
        if self.table.set_ip(at, ip) {
            self.member_moved(envelope.from, before, ip);
        }
        if !matches!(self.role, Role::Owner(_)) {
            self.overhear_ping(envelope, digest);
        } else if self.table.differs(digest) {
            if self.is_large() {
                self.show_more();
            } else {
                self.send_table(envelope.from, |notes| &mut notes.answered);
            }
        }
    }

    /// A WAITER whose table differs from the holder's makes itself known to it. In a small ring an
    /// OWNER does, too: where a hand-over takes longer than a round all are OWNER all the time.
    pub(crate) fn compare_with_holder(
        &mut self,
        envelope: Envelope,
        digest: Digest,
        answered: bool,
    ) {
        let asks = match self.role {
            Role::Waiter(_) => true,
            Role::Owner(_) => !self.is_large() && self.out.may_reply(),
            Role::Looser(_) | Role::Generating(_) => false,
        };
        if !asks || !self.table.differs(digest) {
            return;
        }
        if self.is_large() {
            self.plan_to_ask(digest);
        } else if !answered && self.once_a_period(envelope.from, |notes| &mut notes.pinged) {
            self.send_ping(envelope.from);
        }
    }

    pub(crate) fn send_ping(&mut self, to: MacAddr) {
        let now = self.context.now();
        if let Some(peer) = self.table.peer_mut(to) {
            peer.owed_ping = false;
        }
        if let Some(notes) = self.table.notes_mut(to) {
            notes.pinged.note(now);
        }
        self.send(to, Content::Ping);
    }

    /// RING_MEMBERS: the union of both tables, and the own one back if that is not the sender's.
    pub(crate) fn on_ring_members(
        &mut self,
        envelope: Envelope,
        digest: Digest,
        members: &[Member],
    ) {
        let disputed = self.merge(envelope, members);
        let me = self.me();
        if members
            .iter()
            .any(|member| member.mac == me && member.ip != self.context.ip())
        {
            self.correct_own_entry();
        }
        if let Some(mac) = disputed {
            self.let_decide(mac, envelope);
        }
        if envelope.broadcast {
            self.part_was_shown(envelope, digest, members);
            if !self.is_follower(envelope.from) {
                return;
            }
        }
        // The rest of a table that did not fit one frame may be what is still missing.
        let more_to_come =
            members.len() == MAX_MEMBERS_PER_FRAME && self.table.size() < digest.size;
        if !more_to_come && self.table.differs(digest) {
            self.send_table(envelope.from, |notes| &mut notes.returned);
        }
    }

    /// Adds what is new, and returns a third party of which both tables hold an ip, but not the
    /// same.
    fn merge(&mut self, envelope: Envelope, members: &[Member]) -> Option<MacAddr> {
        let now = self.context.now();
        let mut disputed = None;
        let mut next = 0;
        for offered in members {
            match self.table.place(offered.mac, next) {
                Ok(at) => {
                    next = at + 1;
                    let held = self.table.members()[at];
                    if held.ip != offered.ip && held.mac != self.me() {
                        let (ip, is_disputed) = self.prefer(envelope, at, &held, offered);
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
                            self.told_of(at);
                            Event::MemberAdded {
                                mac,
                                members: self.table.len(),
                            }
                        }
                    };
                    self.event(event);
                }
                Err(at) => next = at,
            }
        }
        disputed
    }

    /// Chooses between two addresses of a third party, and says whether that is to be asked.
    fn prefer(
        &mut self,
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
        let now = self.context.now();
        let patience = self.context.constants().waiter_timeout();
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
    fn let_decide(&mut self, mac: MacAddr, envelope: Envelope) {
        self.table.sort();
        let Some(first) = self.table.find(mac) else {
            return;
        };
        if self.out.may_reply() && self.once_a_period(mac, |notes| &mut notes.disputed) {
            self.send(mac, Content::RingMembers { first });
            if envelope.broadcast && self.out.may_reply() {
                self.send(envelope.from, Content::RingMembers { first });
            }
        }
    }

    /// Somebody holds a wrong ip for this node, or does not know it: all are told.
    pub(crate) fn correct_own_entry(&mut self) {
        let (now, heartbeat) = (self.context.now(), self.context.constants().heartbeat);
        if self.out.may_reply() && self.corrections.allow(now, heartbeat) {
            self.broadcast(Content::Ping);
        }
    }

    /// LEAVING: the member is passed over until it is heard again.
    pub(crate) fn on_leaving(&mut self, envelope: Envelope) {
        self.table.set_wants(envelope.from, false);
        self.table.set_paused(envelope.from, false);
        self.table.set_profile(envelope.from, None);
        if let Some(at) = self.table.find(envelope.from) {
            self.table.peer_at(at).penalty.leave();
            self.table.set_left(at, true);
        }
        self.event(Event::MemberLeft { mac: envelope.from });
        self.end_troubles_of(&[envelope.from]);
        self.review_constants();
        if let Some(offer) = self.role.offer()
            && offer.to == envelope.from
        {
            self.hand_over_failed(offer);
        }
    }

    /// Sends the table, once a period for each cause, as far as the frame in hand may be
    /// answered; the next time goes on where this one ended.
    fn send_table(&mut self, to: MacAddr, cause: fn(&mut Notes) -> &mut Throttle) {
        if !self.out.may_reply() || !self.once_a_period(to, cause) {
            return;
        }
        let (len, part) = (self.table.len(), self.members_per_frame());
        let mut frames = len.div_ceil(part).min(self.out.replies_left());
        while frames > 0 {
            let Some(notes) = self.table.notes_mut(to) else {
                return;
            };
            let first = if notes.cursor < len { notes.cursor } else { 0 };
            notes.cursor = first + part;
            self.send(to, Content::RingMembers { first });
            frames -= 1;
        }
    }

    /// The part of the table that begins at `first` and fits one frame.
    pub(crate) fn table_part(&self, first: usize) -> &[Member] {
        let members = self.table.members();
        let first = first.min(members.len());
        let last = (first + self.members_per_frame()).min(members.len());
        &members[first..last]
    }

    pub(crate) fn members_per_frame(&self) -> usize {
        let (mtu, _) = self.smallest_mtu();
        let fitting = mtu.saturating_sub(MEMBERS_HEAD) / size_of::<Member>();
        fitting.clamp(1, MAX_MEMBERS_PER_FRAME)
    }

    /// Whether something may be done for a member; if so it counts as done. Never for one
    /// that the table had no room for.
    pub(crate) fn once_a_period(
        &mut self,
        mac: MacAddr,
        what: fn(&mut Notes) -> &mut Throttle,
    ) -> bool {
        let now = self.context.now();
        let heartbeat = self.context.constants().heartbeat;
        let notes = self.table.notes_mut(mac);
        notes.is_some_and(|notes| what(notes).allow(now, heartbeat))
    }
}
