//! How members learn of the runs of jobs: STAMPS is told, asked with and answered.

use ring_codec::MacAddr;
use ring_codec::lab2::{self, MAX_STAMPS_PER_FRAME, Purpose, Token};

use super::{Jobs, Situation, Want};
use crate::lab2::confidence::{promise_lasts, stride};
use crate::lab2::machine::Context;
use crate::lab2::members::Members;
use crate::time::Instant;

/// How often an owner tells all stamps, if there are any: every so many HEART_BEAT_PERIODs.
pub(super) const TELLING: u32 = 64;
/// What STAMPS has beside the stamps, from the kind on, in bytes.
const FRAME: usize = 41;

/// A STAMPS frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Telling {
    pub(super) token: Token,
    pub(super) serial: u32,
    pub(super) purpose: Purpose,
    /// The place of the first stamp in it.
    pub(super) first: usize,
}

impl Telling {
    /// One that was received.
    pub(crate) const fn of(token: Token, serial: u32, purpose: Purpose) -> Self {
        Self {
            token,
            serial,
            purpose,
            first: 0,
        }
    }
}

/// How many stamps one frame carries; none: not even one fits.
fn stamps_per_frame(context: &Context, members: &Members) -> usize {
    let room = members.smallest_mtu(context).0.saturating_sub(FRAME) / size_of::<lab2::Stamp>();
    room.min(MAX_STAMPS_PER_FRAME)
}

impl Situation<'_> {
    pub(super) const fn now(&self) -> Instant {
        self.context.now()
    }

    pub(super) fn stamps_per_frame(&self) -> usize {
        stamps_per_frame(self.context, self.members)
    }

    /// Whether this node may count as a member: under another address it may have agreed just now.
    fn is_settled(&self) -> bool {
        let ring = self.members.roster(self.context);
        self.context.has_run_for(promise_lasts(self.context, ring))
    }
}

impl Jobs {
    pub(super) fn tell_if_owed(&mut self, situation: &Situation<'_>) {
        if std::mem::take(&mut self.owes) {
            self.say(situation, Purpose::Tell);
        }
    }

    /// Everybody is told as soon as that answers no frame.
    pub(super) fn owe_telling(&mut self, situation: &Situation<'_>) {
        self.owes = true;
        self.want(Want::Wake(situation.now()));
    }

    /// Says all stamps to everybody.
    pub(super) fn say(&mut self, situation: &Situation<'_>, purpose: Purpose) {
        let each = situation.stamps_per_frame();
        let Some(token) = situation.known.filter(|_| each > 0) else {
            return;
        };
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let parts = self.stamps.len().div_ceil(each).max(1);
        for part in 1..=parts {
            let purpose = if part < parts { Purpose::More } else { purpose };
            let telling = Telling {
                token,
                serial,
                purpose,
                first: (part - 1) * each,
            };
            self.want(Want::Send(MacAddr::BROADCAST, telling));
        }
    }

    /// A heartbeat has left: from time to time the stamps follow.
    pub(super) fn tell_in_time(&mut self, situation: &Situation<'_>) {
        let pause = situation.context.constants().heartbeat * TELLING;
        let is_due = self.told.is_open(situation.now(), pause);
        if is_due && self.follows_heartbeats() {
            self.owe_telling(situation);
        }
    }

    /// STAMPS has left.
    pub(super) fn on_sent(&mut self, situation: &Situation<'_>, telling: Telling) {
        if matches!(telling.purpose, Purpose::Tell | Purpose::Ask) {
            self.told.note(situation.now());
        }
        if let Some(once) = &mut self.once
            && telling.purpose == Purpose::Ask
            && telling.serial.wrapping_sub(once.first) <= u32::MAX / 2
        {
            once.asked = true;
            self.review(situation);
        }
    }

    /// STAMPS: a question, an answer, or what somebody tells all.
    pub(super) fn hear(
        &mut self,
        situation: &Situation<'_>,
        (from, broadcast): (MacAddr, bool),
        telling: Telling,
        (digest, stamps): (u64, &[lab2::Stamp]),
    ) {
        let now = situation.now();
        // How much younger a run may look for the way of a frame.
        let grain = situation.context.waiter_timeout();
        let merged = self.stamps.merge(stamps, now, grain);
        let this = (from, telling.serial);
        match telling.purpose {
            Purpose::More if merged.knows_more => self.lacking = Some(this),
            Purpose::Tell | Purpose::Ask if broadcast => {
                self.told.note(now);
                let lacked = self.lacking.take() == Some(this);
                let is_same = digest == self.stamps.digest();
                let agrees = is_same && !lacked && !merged.knows_more;
                self.answer(situation, from, telling, agrees);
            }
            Purpose::Agree => self.on_agreement(situation, from, telling),
            _ => {}
        }
        if merged.changed {
            self.on_stamps_changed(situation);
        }
        self.review(situation);
    }

    fn answer(&mut self, situation: &Situation<'_>, to: MacAddr, telling: Telling, agrees: bool) {
        let Situation {
            context, members, ..
        } = situation;
        let rank = members.own_rank(context);
        let stride = stride(members.roster(context));
        if !telling.serial.wrapping_add(rank).is_multiple_of(stride) {
            return;
        }
        let is_asked = telling.purpose == Purpose::Ask;
        let answer = |purpose, first| {
            let answer = Telling {
                purpose,
                first,
                ..telling
            };
            Want::Send(to, answer)
        };
        if agrees {
            let may_agree = situation.is_settled() && situation.is_stored;
            if is_asked && may_agree && self.may_reply(situation) {
                self.want(answer(Purpose::Agree, 0));
            }
            return;
        }
        let (each, known) = (situation.stamps_per_frame(), self.stamps.len());
        let (now, heartbeat) = (situation.now(), context.constants().heartbeat);
        let may_answer = is_asked || self.answered.is_open(now, heartbeat);
        if each == 0 || known == 0 || !may_answer {
            return;
        }
        self.answered.note(now);
        // Two frames at a time, round and round.
        let parts = known.div_ceil(each);
        let begin = 2 * telling.serial as usize % parts;
        for part in begin..(begin + 2).min(parts) {
            if self.may_reply(situation) {
                self.want(answer(Purpose::Differ, part * each));
            }
        }
    }

    /// Lays out the stamps that a STAMPS frame carries.
    pub(crate) fn lay_out(&mut self, context: &Context, members: &Members, telling: &Telling) {
        let count = match telling.purpose {
            Purpose::Agree => 0,
            _ => stamps_per_frame(context, members),
        };
        self.stamps.lay_out(telling.first, count, context.now());
    }

    /// A STAMPS frame with the stamps that were laid out for it.
    pub(crate) fn message(&self, telling: &Telling) -> lab2::Message<'_> {
        lab2::Message::Stamps {
            token: telling.token,
            serial: telling.serial,
            purpose: telling.purpose,
            digest: self.stamps.digest(),
            stamps: self.stamps.laid_out(),
        }
    }
}
