//! Table synchronization in a large ring: the holder broadcasts its table part by part, as long as a member reports a
//! different one (`docs/protocol.md`, "Large rings").

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member};

use super::Members;
use crate::lab2::State;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output, Timer};
use crate::throttle::Throttle;

/// State of the broadcast of a table. All members keep it, so that the next holder continues where the last one ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableBroadcast {
    /// Digest of the latest table that was broadcast or named with the token.
    pub(super) digest: Digest,
    /// The last member of the latest part, and the holder that has sent it.
    pub(super) last_member: MacAddr,
    pub(super) sender: MacAddr,
    /// How many parts were sent in this period.
    pub(super) parts: usize,
    pub(super) periods: Throttle,
    /// Questions because of a TOKEN_IS_HERE.
    pub(super) questions: Throttle,
}

impl TableBroadcast {
    pub(super) fn new() -> Self {
        Self {
            digest: Digest { size: 0, hash: 0 },
            last_member: MacAddr([0; 6]),
            sender: MacAddr([0; 6]),
            parts: 0,
            periods: Throttle::default(),
            questions: Throttle::default(),
        }
    }
}

impl Members {
    /// Schedules a question to a holder whose table differs, in this node's turn.
    pub(super) fn schedule_table_question(
        &mut self,
        context: &Context,
        out: &mut Output,
        digest: Digest,
    ) {
        self.table_broadcast.digest = digest;
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if !out.is_set(Timer::Compare) && self.table_broadcast.questions.try_take(now, heartbeat) {
            out.set(Timer::Compare, now + self.speaking_delay(context));
        }
    }

    /// Asks for the holder's table, if the tables still differ. The broadcast PING also introduces this node to all
    /// members.
    pub(crate) fn ask_for_table(&mut self, context: &Context, out: &mut Output) {
        if self.table.differs(self.table_broadcast.digest) {
            // This PING corrects a wrong entry as well, so no other one is needed in this period.
            self.corrections.record(context.now());
            out.broadcast(Content::Ping);
        }
    }

    /// Cancels this node's question, because another member asks the same and the holder's answer goes to all.
    pub(super) fn on_ping_overheard(
        &mut self,
        out: &mut Output,
        envelope: Envelope,
        digest: Digest,
    ) {
        if envelope.broadcast && digest != self.table_broadcast.digest {
            out.stop(Timer::Compare);
        }
    }

    /// Broadcasts up to two more parts of the table. In one HEART_BEAT_PERIOD all holders together send at most as many
    /// parts as the table has.
    pub(super) fn broadcast_parts(&mut self, context: &Context, out: &mut Output) {
        let part = self.members_per_frame(context);
        self.table.sort();
        for _ in 0..out.replies_left() {
            self.count_part(context);
            // More would repeat members within one period.
            if self.table_broadcast.parts > self.table.len().div_ceil(part) {
                return;
            }
            let last_member = self.table_broadcast.last_member;
            let after = self
                .table
                .members()
                .partition_point(|it| it.mac <= last_member);
            let first = if after < self.table.len() { after } else { 0 };
            if let Some(last) = self.table_part(context, first).last() {
                (
                    self.table_broadcast.last_member,
                    self.table_broadcast.sender,
                ) = (last.mac, context.me());
            }
            out.broadcast(Content::RingMembers { first });
        }
    }

    /// Notes a part of the holder's table that was merged.
    pub(super) fn on_table_part(
        &mut self,
        context: &Context,
        out: &mut Output,
        state: State,
        envelope: Envelope,
        digest: Digest,
        members: &[Member],
    ) {
        let Some((first, last)) = members.first().zip(members.last()) else {
            return;
        };
        let me = context.me();
        // The parts of one holder follow each other without gaps, and begin again after the last one.
        let begin = self.table_broadcast.last_member;
        let has_come_by = if self.table_broadcast.sender != envelope.from {
            first.mac < me && me < last.mac
        } else if begin < last.mac {
            begin < me && me < last.mac
        } else {
            begin < me || me < last.mac
        };
        let is_there = members.binary_search_by_key(&me, |member| member.mac);
        if has_come_by && is_there.is_err() {
            self.correct_own_entry(context, out);
        }
        self.count_part(context);
        self.table_broadcast.digest = digest;
        (
            self.table_broadcast.last_member,
            self.table_broadcast.sender,
        ) = (last.mac, envelope.from);
        out.stop(Timer::Compare);
        if state == State::Waiter && self.is_large() && self.table.differs(digest) {
            // More parts may be on their way.
            let pause = context.constants().heartbeat / 100;
            out.set(
                Timer::Compare,
                context.now() + pause + self.speaking_delay(context),
            );
        }
    }

    fn count_part(&mut self, context: &Context) {
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if self.table_broadcast.periods.try_take(now, heartbeat) {
            self.table_broadcast.parts = 0;
        }
        self.table_broadcast.parts += 1;
    }
}
