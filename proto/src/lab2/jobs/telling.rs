//! How members learn of the runs of jobs: STAMPS is told, asked with and answered (`docs/once.md`).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, MAX_STAMPS_PER_FRAME, Purpose, Token};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::{Lab2, RunView};

/// How often an owner tells all stamps, if there are any: every so many HEART_BEAT_PERIODs.
pub(crate) const TELLING: u32 = 64;
/// What STAMPS has beside the stamps, from the kind on, in bytes.
const FRAME: usize = 41;

/// A STAMPS frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Telling {
    pub(crate) token: Token,
    pub(crate) serial: u32,
    pub(crate) purpose: Purpose,
    /// The place of the first stamp in it.
    pub(crate) first: usize,
}

/// What a STAMPS frame tells.
pub(crate) struct ReceivedStamps<'a> {
    pub(crate) digest: u64,
    pub(crate) stamps: &'a [lab2::Stamp],
}

impl Lab2 {
    /// How many stamps one frame carries; none: not even one fits.
    pub(crate) fn stamps_per_frame(&self) -> usize {
        let room = self.smallest_mtu().0.saturating_sub(FRAME) / size_of::<lab2::Stamp>();
        room.min(MAX_STAMPS_PER_FRAME)
    }

    /// How much younger a run may look for the way of a frame.
    pub(crate) fn grain(&self) -> Duration {
        self.context.constants().waiter_timeout()
    }

    pub(crate) fn tell_if_owed(&mut self) {
        if std::mem::take(&mut self.jobs.owes) {
            self.tell_stamps();
        }
    }

    /// Everybody is told as soon as that answers no frame.
    pub(crate) fn owe_telling(&mut self) {
        self.jobs.owes = true;
        self.timer_in(Timer::Stamps, Duration::ZERO);
    }

    /// Tells everybody all stamps.
    pub(crate) fn tell_stamps(&mut self) {
        self.say_stamps(Purpose::Tell);
    }

    pub(crate) fn say_stamps(&mut self, purpose: Purpose) {
        let each = self.stamps_per_frame();
        let may_speak = each > 0 && self.context.is_up() && !self.has_left();
        let Some(token) = self.token().filter(|_| may_speak) else {
            return;
        };
        self.jobs.serial = self.jobs.serial.wrapping_add(1);
        let serial = self.jobs.serial;
        let parts = self.jobs.stamps.len().div_ceil(each).max(1);
        for part in 1..=parts {
            let purpose = if part < parts { Purpose::More } else { purpose };
            self.broadcast(Content::Stamps(Telling {
                token,
                serial,
                purpose,
                first: (part - 1) * each,
            }));
        }
    }

    /// A heartbeat has left: from time to time the stamps follow.
    pub(crate) fn tell_stamps_in_time(&mut self) {
        let pause = self.context.constants().heartbeat * TELLING;
        let now = self.context.now();
        let is_due = self.jobs.told.is_open(now, pause);
        if is_due && !self.jobs.stamps.is_empty() && !self.is_asking() {
            self.owe_telling();
        }
    }

    /// STAMPS has left.
    pub(crate) fn told_stamps(&mut self, telling: Telling) {
        if matches!(telling.purpose, Purpose::Tell | Purpose::Ask) {
            self.jobs.told.note(self.context.now());
        }
        if let Some(once) = &mut self.jobs.once
            && telling.purpose == Purpose::Ask
            && telling.serial.wrapping_sub(once.first) <= u32::MAX / 2
        {
            once.asked = true;
            self.review_once();
        }
    }

    /// STAMPS: a question, an answer, or what somebody tells all.
    pub(crate) fn on_stamps(
        &mut self,
        envelope: Envelope,
        telling: Telling,
        told: &ReceivedStamps<'_>,
    ) {
        let (now, grain) = (self.context.now(), self.grain());
        let merged = self.jobs.stamps.merge(told.stamps, now, grain);
        let this = (envelope.from, telling.serial);
        match telling.purpose {
            Purpose::More if merged.knows_more => self.jobs.lacking = Some(this),
            Purpose::Tell | Purpose::Ask if envelope.broadcast => {
                self.jobs.told.note(now);
                let lacked = self.jobs.lacking.take() == Some(this);
                let is_same = told.digest == self.jobs.stamps.digest;
                let agrees = is_same && !lacked && !merged.knows_more;
                self.answer_telling(envelope.from, telling, agrees);
            }
            Purpose::Agree => self.on_agreement(envelope.from, telling),
            _ => {}
        }
        if merged.changed {
            self.stamps_changed();
        }
        self.review_once();
    }

    fn answer_telling(&mut self, to: MacAddr, telling: Telling, agrees: bool) {
        let rank = u32::try_from(self.table.rank(self.me())).unwrap_or(u32::MAX);
        let stride = Self::stride(self.roster());
        if !telling.serial.wrapping_add(rank).is_multiple_of(stride) {
            return;
        }
        let is_asked = telling.purpose == Purpose::Ask;
        let answer = |purpose, first| {
            Content::Stamps(Telling {
                purpose,
                first,
                ..telling
            })
        };
        if agrees {
            let may_agree = self.is_settled() && self.is_stored();
            if is_asked && may_agree && self.out.may_reply() {
                self.send(to, answer(Purpose::Agree, 0));
            }
            return;
        }
        let (each, known) = (self.stamps_per_frame(), self.jobs.stamps.len());
        let (now, heartbeat) = (self.context.now(), self.context.constants().heartbeat);
        let may_answer = is_asked || self.jobs.answered.is_open(now, heartbeat);
        if each == 0 || known == 0 || !may_answer {
            return;
        }
        self.jobs.answered.note(now);
        // Two frames at a time, round and round.
        let parts = known.div_ceil(each);
        let begin = 2 * telling.serial as usize % parts;
        for part in begin..(begin + 2).min(parts) {
            if self.out.may_reply() {
                self.send(to, answer(Purpose::Differ, part * each));
            }
        }
    }

    /// Whether this node may count as a member: under another address it may have agreed just now.
    pub(crate) fn is_settled(&self) -> bool {
        let quiet = self.promise_lasts(self.roster());
        self.context.has_run_for(quiet)
    }

    /// Lays out what a STAMPS frame carries.
    pub(crate) fn lay_out_stamps(&mut self, telling: &Telling) {
        let count = match telling.purpose {
            Purpose::Agree => 0,
            _ => self.stamps_per_frame(),
        };
        let now = self.context.now();
        self.jobs.stamps.lay_out(telling.first, count, now);
    }

    /// The last run of each job that is known here.
    pub fn runs(&self) -> impl Iterator<Item = RunView> {
        let entries = self.jobs.stamps.entries.iter();
        entries.map(|entry| entry.view(self.context.now()))
    }
}
