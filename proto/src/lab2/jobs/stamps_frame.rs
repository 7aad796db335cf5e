//! The STAMPS frames: questions, answers and announcements.

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Purpose, STAMPS_PER_FRAME_MAX, Token};

use super::{JobAction, JobContext, Jobs};
use crate::lab2::confidence::{answer_stride, promise_duration};
use crate::lab2::machine::Context;
use crate::lab2::members::Members;
use crate::time::Instant;

/// The period of an owner's announcements, in HEART_BEAT_PERIODs.
pub(super) const ANNOUNCEMENT_PERIODS: u32 = 64;
/// The length of a STAMPS frame that contains no stamps, in bytes.
const STAMPS_HEADER_LEN: usize = 41;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct StampsFrame {
    pub(super) token: Token,
    pub(super) serial: u32,
    pub(super) purpose: Purpose,
    /// The place of this frame's first stamp in the table.
    pub(super) first: usize,
}

impl StampsFrame {
    /// Creates the description of a STAMPS frame that was received.
    pub(crate) const fn from_frame(token: Token, serial: u32, purpose: Purpose) -> Self {
        Self {
            token,
            serial,
            purpose,
            first: 0,
        }
    }
}

/// Returns the number of stamps that fit into one frame. It may be 0.
fn stamps_per_frame(context: &Context, members: &Members) -> usize {
    let room = members
        .smallest_mtu(context)
        .0
        .saturating_sub(STAMPS_HEADER_LEN)
        / size_of::<lab2::Stamp>();
    room.min(STAMPS_PER_FRAME_MAX)
}

impl JobContext<'_> {
    pub(super) const fn now(&self) -> Instant {
        self.context.now()
    }

    pub(super) fn stamps_per_frame(&self) -> usize {
        stamps_per_frame(self.context, self.members)
    }

    /// Whether this node may agree to stamps. A node that was just restarted or has a new address may have agreed
    /// already, and the members must not count it twice.
    fn is_settled(&self) -> bool {
        let ring = self.members.ring_size(self.context);
        self.context
            .has_run_for(promise_duration(self.context, ring))
    }
}

impl Jobs {
    pub(super) fn announce_if_due(&mut self, job_context: &JobContext<'_>) {
        if std::mem::take(&mut self.is_announcement_due) {
            self.broadcast_stamps(job_context, Purpose::Tell);
        }
    }

    /// Schedules an announcement. The announcement waits for a timeout that is due at once, so that it does not count
    /// as an answer to a frame.
    pub(super) fn schedule_announcement(&mut self, job_context: &JobContext<'_>) {
        self.is_announcement_due = true;
        self.push_action(JobAction::WakeAt(job_context.now()));
    }

    /// Broadcasts all stamps, in as many frames as the MTU requires.
    pub(super) fn broadcast_stamps(&mut self, job_context: &JobContext<'_>, purpose: Purpose) {
        let each = job_context.stamps_per_frame();
        // Every frame names a token. If not even one stamp fits a frame, announcements are impossible.
        let Some(token) = job_context.known.filter(|_| each > 0) else {
            return;
        };
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let parts = self.stamps.len().div_ceil(each).max(1);
        for part in 1..=parts {
            // A receiver can judge the whole table only after the last part, so only that part asks or announces.
            let purpose = if part < parts { Purpose::More } else { purpose };
            let frame = StampsFrame {
                token,
                serial,
                purpose,
                first: (part - 1) * each,
            };
            self.push_action(JobAction::Send(MacAddr::BROADCAST, frame));
        }
    }

    /// Announces all stamps, if members announced no stamps for a while. Call this function after this node sends a
    /// heartbeat.
    pub(super) fn on_heartbeat_sent(&mut self, job_context: &JobContext<'_>) {
        let pause = job_context.context.constants().heartbeat * ANNOUNCEMENT_PERIODS;
        let is_due = self.announcements.is_allowed(job_context.now(), pause);
        if is_due && self.follows_heartbeats() {
            self.schedule_announcement(job_context);
        }
    }

    /// Handles the report that the link accepted this STAMPS frame.
    pub(super) fn on_sent(&mut self, job_context: &JobContext<'_>, frame: StampsFrame) {
        if matches!(frame.purpose, Purpose::Tell | Purpose::Ask) {
            self.announcements.record(job_context.now());
        }
        if let Some(once) = &mut self.once
            && frame.purpose == Purpose::Ask
            // A frame with stamps from before the last change asks about other stamps, so it does not count.
            && frame.serial.wrapping_sub(once.first) <= u32::MAX / 2
        {
            once.asked = true;
            self.review(job_context);
        }
    }

    /// Handles a STAMPS frame of another member: a question, an answer or an announcement.
    pub(super) fn on_stamps(
        &mut self,
        job_context: &JobContext<'_>,
        (from, broadcast): (MacAddr, bool),
        frame: StampsFrame,
        (digest, stamps): (u64, &[lab2::Stamp]),
    ) {
        let now = job_context.now();
        // A run looks younger by the time for which its frame was on the way.
        let grain = job_context.context.waiter_timeout();
        let merged = self.stamps.merge(stamps, now, grain);
        let this = (from, frame.serial);
        match frame.purpose {
            Purpose::More if merged.knows_more => self.incomplete_announcement = Some(this),
            Purpose::Tell | Purpose::Ask if broadcast => {
                // One announcement in the ring is enough, so this node delays its announcement for another period.
                self.announcements.record(now);
                let lacked = self.incomplete_announcement.take() == Some(this);
                let is_same = digest == self.stamps.digest();
                let agrees = is_same && !lacked && !merged.knows_more;
                self.answer(job_context, from, frame, agrees);
            }
            Purpose::Agree => self.on_agreement(job_context, from, frame),
            _ => {}
        }
        if merged.changed {
            self.on_stamps_changed(job_context);
        }
        self.review(job_context);
    }

    fn answer(
        &mut self,
        job_context: &JobContext<'_>,
        to: MacAddr,
        frame: StampsFrame,
        agrees: bool,
    ) {
        let JobContext {
            context, members, ..
        } = job_context;
        let rank = members.own_rank(context);
        let stride = answer_stride(members.ring_size(context));
        // In a large ring, only some members answer each question, as with heartbeats.
        if !frame.serial.wrapping_add(rank).is_multiple_of(stride) {
            return;
        }
        let is_asked = frame.purpose == Purpose::Ask;
        let answer = |purpose, first| {
            let answer = StampsFrame {
                purpose,
                first,
                ..frame
            };
            JobAction::Send(to, answer)
        };
        if agrees {
            // A member that agrees must keep the stamps over a restart.
            let may_agree = job_context.is_settled() && job_context.is_stored;
            // An announcement needs no agreement: only differences are of interest.
            if is_asked && may_agree && self.may_reply(job_context) {
                self.push_action(answer(Purpose::Agree, 0));
            }
            return;
        }
        let (each, known) = (job_context.stamps_per_frame(), self.stamps.len());
        let (now, heartbeat) = (job_context.now(), context.constants().heartbeat);
        let may_answer = is_asked || self.answers.is_allowed(now, heartbeat);
        if each == 0 || known == 0 || !may_answer {
            return;
        }
        self.answers.record(now);
        // At most two frames answer a question. The serial number selects the parts. So the answer to the next question
        // contains the next parts.
        let parts = known.div_ceil(each);
        let begin = 2 * frame.serial as usize % parts;
        for part in begin..(begin + 2).min(parts) {
            if self.may_reply(job_context) {
                self.push_action(answer(Purpose::Differ, part * each));
            }
        }
    }

    /// Encodes the stamps that a frame will contain.
    pub(crate) fn encode_stamps(
        &mut self,
        context: &Context,
        members: &Members,
        frame: &StampsFrame,
    ) {
        let count = match frame.purpose {
            // An agreement is about the stamps of the question, so it does not repeat these stamps.
            Purpose::Agree => 0,
            _ => stamps_per_frame(context, members),
        };
        self.stamps.encode_part(frame.first, count, context.now());
    }

    /// Returns the message of a frame. The message contains the stamps from [`encode_stamps`](Self::encode_stamps).
    pub(crate) fn message(&self, frame: &StampsFrame) -> lab2::Message<'_> {
        lab2::Message::Stamps {
            token: frame.token,
            serial: frame.serial,
            purpose: frame.purpose,
            digest: self.stamps.digest(),
            stamps: self.stamps.encoded_part(),
        }
    }
}
