//! How the tables of a large ring become equal: the holder shows its table to all, part by part,
//! as long as somebody says that his is another (`docs/protocol.md`, "Large rings").

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member};

use crate::lab2::Lab2;
use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::crowd::FOLLOWERS;
use crate::lab2::tenure::role::Role;
use crate::throttle::Throttle;

/// The largest ring in which everybody asks the holder for its table, and is told it.
const SMALL: usize = FOLLOWERS + 1;

/// What all members remember of the parts that were shown to all, so that the next holder goes on
/// where the last one ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sweep {
    /// The digest of the table that was shown, or heard of with the token, last.
    pub(crate) digest: Digest,
    /// The last member of the last part, and who has shown it.
    pub(crate) end: MacAddr,
    pub(crate) by: MacAddr,
    /// How many parts were shown in this period.
    pub(crate) parts: usize,
    pub(crate) periods: Throttle,
    /// Asking because of a TOKEN_IS_HERE.
    pub(crate) asked: Throttle,
}

impl Sweep {
    pub(crate) fn new() -> Self {
        Self {
            digest: Digest { size: 0, hash: 0 },
            end: MacAddr([0; 6]),
            by: MacAddr([0; 6]),
            parts: 0,
            periods: Throttle::default(),
            asked: Throttle::default(),
        }
    }
}

impl Lab2 {
    /// Whether the ring is too large for everybody to be told the table for himself.
    pub(crate) fn is_large(&self) -> bool {
        self.table.len() > SMALL
    }

    /// A WAITER of a large ring hears that the holder's table is another: it will ask for it in
    /// its turn.
    pub(crate) fn plan_to_ask(&mut self, digest: Digest) {
        self.sweep.digest = digest;
        let (now, heartbeat) = (self.context.now(), self.context.constants().heartbeat);
        if !self.out.is_set(Timer::Compare) && self.sweep.asked.allow(now, heartbeat) {
            self.timer_in(Timer::Compare, self.turn());
        }
    }

    /// The turn has come: asks, and makes itself known to all, if the tables still differ.
    pub(crate) fn ask_for_table(&mut self) {
        if matches!(self.role, Role::Waiter(_)) && self.table.differs(self.sweep.digest) {
            self.corrections.note(self.context.now());
            self.broadcast(Content::Ping);
        }
    }

    /// Another member asks for what this one was about to ask for, or says that it has another
    /// table: the holder will answer all.
    pub(crate) fn overhear_ping(&mut self, envelope: Envelope, digest: Digest) {
        if envelope.broadcast && digest != self.sweep.digest {
            self.out.stop(Timer::Compare);
        }
    }

    /// The holder shows two more parts of its table to all; in a HEART_BEAT_PERIOD not more, with
    /// those of other holders, than the table has.
    pub(crate) fn show_more(&mut self) {
        let part = self.members_per_frame();
        self.table.sort();
        for _ in 0..self.out.replies_left() {
            self.count_part();
            if self.sweep.parts > self.table.len().div_ceil(part) {
                return;
            }
            let end = self.sweep.end;
            let after = self.table.members().partition_point(|it| it.mac <= end);
            let first = if after < self.table.len() { after } else { 0 };
            if let Some(last) = self.table_part(first).last() {
                (self.sweep.end, self.sweep.by) = (last.mac, self.me());
            }
            self.broadcast(Content::RingMembers { first });
        }
    }

    /// A part of the holder's table that was shown to all was merged.
    pub(crate) fn part_was_shown(
        &mut self,
        envelope: Envelope,
        digest: Digest,
        members: &[Member],
    ) {
        let Some((first, last)) = members.first().zip(members.last()) else {
            return;
        };
        let me = self.me();
        // One holder's parts follow each other without a gap, round and round.
        let begin = self.sweep.end;
        let has_come_by = if self.sweep.by != envelope.from {
            first.mac < me && me < last.mac
        } else if begin < last.mac {
            begin < me && me < last.mac
        } else {
            begin < me || me < last.mac
        };
        let is_there = members.binary_search_by_key(&me, |member| member.mac);
        if has_come_by && is_there.is_err() {
            self.correct_own_entry();
        }
        self.count_part();
        self.sweep.digest = digest;
        (self.sweep.end, self.sweep.by) = (last.mac, envelope.from);
        self.out.stop(Timer::Compare);
        if matches!(self.role, Role::Waiter(_)) && self.is_large() && self.table.differs(digest) {
            // More may be on its way.
            let pause = self.context.constants().heartbeat / 100;
            self.timer_in(Timer::Compare, pause + self.turn());
        }
    }

    fn count_part(&mut self) {
        let (now, heartbeat) = (self.context.now(), self.context.constants().heartbeat);
        if self.sweep.periods.allow(now, heartbeat) {
            self.sweep.parts = 0;
        }
        self.sweep.parts += 1;
    }
}
