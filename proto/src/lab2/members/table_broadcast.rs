//! Table synchronization in a large ring (`docs/reference/lab2/large-rings.md N6` to N9). While a member reports a
//! different table, the holder broadcasts its table part by part.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member};

use super::Members;
use crate::lab2::State;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output, Timer};
use crate::throttle::Throttle;

/// State of the broadcast of a table. All members keep the state of the broadcast. So when the token moves on, the next
/// holder can continue with the next part.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct TableBroadcast {
    /// Digest of the table in the latest broadcast part or TOKEN_IS_HERE.
    pub(super) digest: Digest,
    /// Last member of the latest part.
    pub(super) last_member: MacAddr,
    /// Holder that sent the latest part.
    pub(super) sender: MacAddr,
    /// Number of parts that all holders together sent in this period.
    pub(super) parts: usize,
    pub(super) periods: Throttle,
    /// Limits how often this node asks a holder after a TOKEN_IS_HERE with a different digest.
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
    /// Schedules a question to a holder, because the holder's table differs from this node's table. The question waits
    /// for this node's turn.
    pub(super) fn schedule_table_question(
        &mut self,
        context: &Context,
        out: &mut Output,
        digest: Digest,
    ) {
        self.table_broadcast.digest = digest;
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        // A question that already waits asks for the newest digest, so a second question is not needed.
        if !out.is_set(Timer::Compare) && self.table_broadcast.questions.try_take(now, heartbeat) {
            out.set(Timer::Compare, now + self.speaking_delay(context));
        }
    }

    /// If the tables still differ, asks for the holder's table by a broadcast PING. The PING also makes this node known
    /// to all members.
    pub(crate) fn ask_for_table(&mut self, context: &Context, out: &mut Output) {
        if self.table.differs(self.table_broadcast.digest) {
            // This PING also corrects a wrong entry of this node, so no second PING is needed in this period.
            self.corrections.record(context.now());
            out.broadcast(Content::Ping);
        }
    }

    /// Cancels this node's question. Another member asked the same question, and the holder broadcasts its answer.
    pub(super) fn on_ping_overheard(
        &mut self,
        out: &mut Output,
        envelope: Envelope,
        digest: Digest,
    ) {
        // A PING with the holder's digest asks no question, so it gets no answer.
        if envelope.broadcast && digest != self.table_broadcast.digest {
            out.stop(Timer::Compare);
        }
    }

    /// Broadcasts up to two more parts of the table. In one HEART_BEAT_PERIOD, all holders together send at most as
    /// many parts as the table has.
    pub(super) fn broadcast_parts(&mut self, context: &Context, out: &mut Output) {
        let part = self.members_per_frame(context);
        // The parts are ranges of the sorted table.
        self.table.sort();
        for _ in 0..out.replies_left() {
            self.count_part(context);
            // More parts would repeat members within one period.
            if self.table_broadcast.parts > self.table.len().div_ceil(part) {
                return;
            }
            let last_member = self.table_broadcast.last_member;
            let after = self
                .table
                .members()
                // The search uses the address instead of the place, because the tables of two holders may differ.
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

    /// Notes a part of the holder's table, after the merge.
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
        // The parts of one holder follow each other without gaps, and begin again after the last part. So a node whose
        // place is between two successive parts is missing in the holder's table.
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
            // More parts may be on their way, so this node asks again only after a pause.
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
