//! Keeping all tables equal (`docs/protocol.md`, "Membership").

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERNET_HEADER_LEN, MAX_FRAME_LEN, MAX_MEMBERS_PER_FRAME, Member, NO_IP,
};

use super::input::Envelope;
use super::outbox::Content;
use super::role::Role;
use super::table::{Inserted, Peer};
use super::timer::Timer;
use super::{Event, Lab2};
use crate::proto::time::Instant;

/// Bytes of a RING_MEMBERS payload before its first member.
const MEMBERS_HEAD: usize =
    MAX_FRAME_LEN - ETHERNET_HEADER_LEN - MAX_MEMBERS_PER_FRAME * size_of::<Member>();

impl Lab2 {
    /// A member is new in the table. An OWNER that was alone has somebody to pass to now.
    pub(super) fn member_added(&mut self, mac: MacAddr) {
        self.event(Event::MemberAdded {
            mac,
            members: self.table.len(),
        });
        if self.may_pass() && !self.timers.is_set(Timer::Pass) {
            let turn = self.constants.idle_hold.max(self.constants.take_timeout);
            self.timer_in(Timer::Pass, turn);
        }
    }

    /// PING: a member is the authority on its own ip.
    pub(super) fn on_ping(&mut self, envelope: Envelope, digest: Digest, ip: [u8; 16]) {
        let Some(at) = self.table.find(envelope.from) else {
            return;
        };
        if self.table.set_ip(at, ip) {
            self.event(Event::MemberMoved {
                mac: envelope.from,
                ip,
            });
        }
        let holds_token = matches!(self.role, Role::Owner(_));
        if holds_token && digest != self.table.digest() {
            self.send_table(envelope.from, |peer| &mut peer.answered);
        }
    }

    /// A WAITER whose table differs from the holder's makes itself known to it.
    pub(super) fn compare_with_holder(&mut self, envelope: Envelope, digest: Digest) {
        if matches!(self.role, Role::Waiter)
            && digest != self.table.digest()
            && self.once_a_period(envelope.from, |peer| &mut peer.pinged)
        {
            self.send_ping(envelope.from);
        }
    }

    pub(super) fn send_ping(&mut self, to: MacAddr) {
        let now = self.now.monotonic;
        if let Some(peer) = self.table.peer_mut(to) {
            peer.owed_ping = false;
            peer.pinged = Some(now);
        }
        self.send(to, Content::Ping);
    }

    /// RING_MEMBERS: the union of both tables, and the own one back if that is not the sender's.
    pub(super) fn on_ring_members(
        &mut self,
        envelope: Envelope,
        digest: Digest,
        members: &[Member],
    ) {
        let disputed = self.merge(envelope.from, members);
        let me = self.me();
        if members
            .iter()
            .any(|member| member.mac == me && member.ip != self.ip)
        {
            self.correct_own_ip();
        }
        if let Some(mac) = disputed {
            self.let_decide(mac);
        }
        // The rest of a table that did not fit one frame may be what is still missing.
        let more_to_come =
            members.len() == MAX_MEMBERS_PER_FRAME && self.table.digest().size < digest.size;
        if digest != self.table.digest() && !more_to_come {
            self.send_table(envelope.from, |peer| &mut peer.returned);
        }
    }

    /// Adds what is new, and returns a third party of which both tables hold an ip, but not the
    /// same.
    fn merge(&mut self, from: MacAddr, members: &[Member]) -> Option<MacAddr> {
        let me = self.me();
        let now = self.now.monotonic;
        let long_ago = now.before(self.constants.waiter_timeout());
        let count = self.table.len();
        let mut disputed = None;
        let prefer = |held: &Member, peer: &mut Peer, offered: &Member| {
            if held.mac == me || held.ip == offered.ip {
                return held.ip;
            }
            if held.ip == NO_IP || held.mac == from && offered.ip != NO_IP {
                return offered.ip;
            }
            disputed = disputed.or(Some(held.mac));
            let since = *peer.disputed_since.get_or_insert(now);
            let heard_lately = peer.last_seen.is_some_and(|seen| seen >= long_ago);
            if offered.ip == NO_IP || heard_lately || since > long_ago {
                held.ip
            } else {
                // It does not decide, so perhaps it is dead: all must come to the same choice by
                // themselves.
                held.ip.max(offered.ip)
            }
        };
        let events = &mut self.events;
        let mut added = count;
        self.table
            .merge(members, prefer, |member, inserted| match inserted {
                Inserted::New(_) => {
                    added += 1;
                    events.push_back(Event::MemberAdded {
                        mac: member.mac,
                        members: added,
                    });
                }
                Inserted::Full => events.push_back(Event::TableFull { author: member.mac }),
                Inserted::Known(_) => {}
            });
        if added > count && self.may_pass() && !self.timers.is_set(Timer::Pass) {
            self.settle_down();
        }
        disputed
    }

    /// Shows a member the own table from its entry on: if that is wrong it will tell all.
    fn let_decide(&mut self, mac: MacAddr) {
        let Some(first) = self.table.find(mac) else {
            return;
        };
        if self.replies_left > 0 && self.once_a_period(mac, |peer| &mut peer.disputed) {
            self.send(mac, Content::RingMembers { first });
        }
    }

    /// Somebody holds a wrong ip for this node: all are told the right one.
    fn correct_own_ip(&mut self) {
        if self.is_due(self.corrected) {
            self.corrected = Some(self.now.monotonic);
            self.broadcast(Content::Ping);
        }
    }

    /// LEAVING: the member is passed over until it is heard again.
    pub(super) fn on_leaving(&mut self, envelope: Envelope) {
        self.table.set_wants(envelope.from, false);
        if let Some(peer) = self.table.peer_mut(envelope.from) {
            peer.penalty.leave();
        }
        self.event(Event::MemberLeft { mac: envelope.from });
    }

    /// Sends the table, once a period for each cause, as far as the frame in hand may be
    /// answered; the next time goes on where this one ended.
    fn send_table(&mut self, to: MacAddr, cause: fn(&mut Peer) -> &mut Option<Instant>) {
        if self.replies_left == 0 || !self.once_a_period(to, cause) {
            return;
        }
        let (len, part) = (self.table.len(), self.members_per_frame());
        let mut frames = len.div_ceil(part).min(self.replies_left);
        while frames > 0 {
            let Some(peer) = self.table.peer_mut(to) else {
                return;
            };
            let first = if peer.cursor < len { peer.cursor } else { 0 };
            peer.cursor = first + part;
            self.send(to, Content::RingMembers { first });
            frames -= 1;
        }
    }

    /// The part of the table that begins at `first` and fits one frame.
    pub(super) fn table_part(&self, first: usize) -> &[Member] {
        let members = self.table.members();
        let first = first.min(members.len());
        let last = (first + self.members_per_frame()).min(members.len());
        &members[first..last]
    }

    fn members_per_frame(&self) -> usize {
        let fitting = self.mtu.saturating_sub(MEMBERS_HEAD) / size_of::<Member>();
        fitting.clamp(1, MAX_MEMBERS_PER_FRAME)
    }

    /// Whether something is due for a member, and if so notes that it was done. Never for one
    /// that the table had no room for.
    fn once_a_period(&mut self, mac: MacAddr, what: fn(&mut Peer) -> &mut Option<Instant>) -> bool {
        let now = self.now.monotonic;
        let heartbeat = self.constants.heartbeat;
        let Some(peer) = self.table.peer_mut(mac) else {
            return false;
        };
        let last = what(peer);
        let due = last.is_none_or(|at| now.since(at) >= heartbeat);
        if due {
            *last = Some(now);
        }
        due
    }

    /// Whether what was last done at `last` may be done again: it is a HEART_BEAT_PERIOD ago.
    pub(super) fn is_due(&self, last: Option<Instant>) -> bool {
        last.is_none_or(|at| self.now.monotonic.since(at) >= self.constants.heartbeat)
    }
}
