//! How the tables of a large ring become equal: the holder shows its table to all, part by part,
//! as long as somebody says that his is another (`docs/protocol.md`, "Large rings").

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member};

use super::Members;
use crate::lab2::State;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output, Timer};
use crate::throttle::Throttle;

/// What all members remember of the parts that were shown to all, so that the next holder goes on
/// where the last one ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    /// The digest of the table that was shown, or heard of with the token, last.
    pub(super) digest: Digest,
    /// The last member of the last part, and who has shown it.
    pub(super) end: MacAddr,
    pub(super) by: MacAddr,
    /// How many parts were shown in this period.
    pub(super) parts: usize,
    pub(super) periods: Throttle,
    /// Asking because of a TOKEN_IS_HERE.
    pub(super) asked: Throttle,
}

impl Sweep {
    pub(super) fn new() -> Self {
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

impl Members {
    /// A WAITER of a large ring hears that the holder's table is another: it will ask for it in
    /// its turn.
    pub(super) fn plan_to_ask(&mut self, context: &Context, out: &mut Output, digest: Digest) {
        self.sweep.digest = digest;
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if !out.is_set(Timer::Compare) && self.sweep.asked.allow(now, heartbeat) {
            out.set(Timer::Compare, now + self.turn(context));
        }
    }

    /// The turn of a WAITER has come: asks, and makes itself known to all, if the tables still differ.
    pub(crate) fn ask_for_table(&mut self, context: &Context, out: &mut Output) {
        if self.table.differs(self.sweep.digest) {
            self.corrections.note(context.now());
            out.broadcast(Content::Ping);
        }
    }

    /// Another member asks for what this one was about to ask for, or says that it has another
    /// table: the holder will answer all.
    pub(super) fn overhear_ping(&mut self, out: &mut Output, envelope: Envelope, digest: Digest) {
        if envelope.broadcast && digest != self.sweep.digest {
            out.stop(Timer::Compare);
        }
    }

    /// The holder shows two more parts of its table to all; in a HEART_BEAT_PERIOD not more, with
    /// those of other holders, than the table has.
    pub(super) fn show_more(&mut self, context: &Context, out: &mut Output) {
        let part = self.members_per_frame(context);
        self.table.sort();
        for _ in 0..out.replies_left() {
            self.count_part(context);
            if self.sweep.parts > self.table.len().div_ceil(part) {
                return;
            }
            let end = self.sweep.end;
            let after = self.table.members().partition_point(|it| it.mac <= end);
            let first = if after < self.table.len() { after } else { 0 };
            if let Some(last) = self.table_part(context, first).last() {
                (self.sweep.end, self.sweep.by) = (last.mac, context.me());
            }
            out.broadcast(Content::RingMembers { first });
        }
    }

    /// A part of the holder's table that was shown to all was merged.
    pub(super) fn part_was_shown(
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
            self.correct_own_entry(context, out);
        }
        self.count_part(context);
        self.sweep.digest = digest;
        (self.sweep.end, self.sweep.by) = (last.mac, envelope.from);
        out.stop(Timer::Compare);
        if state == State::Waiter && self.is_large() && self.table.differs(digest) {
            // More may be on its way.
            let pause = context.constants().heartbeat / 100;
            out.set(Timer::Compare, context.now() + pause + self.turn(context));
        }
    }

    fn count_part(&mut self, context: &Context) {
        let (now, heartbeat) = (context.now(), context.constants().heartbeat);
        if self.sweep.periods.allow(now, heartbeat) {
            self.sweep.parts = 0;
        }
        self.sweep.parts += 1;
    }
}
