//! The measurement in which this node takes part.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, MEASURES_PER_FRAME_MAX, Measure, Message, PADDING_LEN_MAX};

use super::answers::ANSWER_GAP;
use super::data::MemberMeasures;
use super::peer_counts::{PeerCounts, is_large};
use super::{Probe, SurveyFrame};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::members::Members;
use crate::time::{Instant, nanos};

/// Time from the question to the first probe. In this time, a member that missed the question hears a repetition of the
/// question. So this member counts the first probes too.
pub(super) const PREPARATION: Duration = Duration::from_millis(300);
/// Time from the last probe to the results. Other members may begin later, and answers take time.
pub(super) const SETTLING: Duration = Duration::from_millis(500);
/// Minimum time between two probes of a node, so that its heartbeats and handovers do not wait.
const PROBE_GAP: Duration = Duration::from_millis(1);
/// Maximum number of probes and answers on the segment in one second. A switch port may have to carry all of them.
const FRAMES_PER_SECOND_MAX: u32 = 10_000;
/// Time for which a node repeats its results on request. After this time, a surveyor no longer asks.
const REPEAT_TIME: Duration = Duration::from_secs(5);
/// Maximum number of answers to probes in one [`ANSWER_WINDOW`].
const ANSWERS_MAX: u32 = 40;
const ANSWER_WINDOW: Duration = Duration::from_millis(10);
/// Length of the payload of a MEASURES frame without rows, in bytes.
const MEASURES_LEN: usize = 30;

/// The parameters of a measurement.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Plan {
    pub(super) surveyor: MacAddr,
    pub(super) serial: u64,
    pub(super) probes: u8,
    pub(super) span: Duration,
}

impl Plan {
    /// Returns the time over which each member spreads its probes, if this number of members measure.
    pub(super) fn duration(&self, measurers: usize) -> Duration {
        let measurers = u32::try_from(measurers).unwrap_or(u32::MAX);
        // In a round, a member sends one probe to each other member, and one broadcast.
        let probes = measurers.saturating_mul(self.probes.into());
        // Each probe to a member causes an answer, but a broadcast causes no answers.
        let per_round = measurers.saturating_mul(2).saturating_sub(1);
        let frames = probes.saturating_mul(per_round);
        let load_time = Duration::from_secs(1).saturating_mul(frames) / FRAMES_PER_SECOND_MAX;
        self.span
            .max(PROBE_GAP.saturating_mul(probes))
            .max(load_time)
    }

    /// Returns the time from the question to the results.
    pub(super) fn time(&self, measurers: usize) -> Duration {
        PREPARATION + self.duration(measurers) + SETTLING
    }
}

/// A limit for the rate at which this node answers probes.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct AnswerBudget {
    window: Instant,
    used: u32,
}

impl AnswerBudget {
    /// Whether this node may answer one more probe.
    pub(super) fn try_take(&mut self, now: Instant) -> bool {
        if now.since(self.window) >= ANSWER_WINDOW {
            *self = Self {
                window: now,
                used: 0,
            };
        }
        self.used += 1;
        self.used <= ANSWERS_MAX
    }
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
enum Stage {
    /// The probe with this number, counted over all destinations, is due.
    Probing { next: usize, due: Instant },
    /// All probes were sent, and the last answers may arrive.
    Settling { until: Instant },
    /// The results are complete. The node sends them again at most until `repeat_until`, and not before `next`. If
    /// `is_wanted` is set, the surveyor has asked again.
    Complete {
        repeat_until: Instant,
        next: Instant,
        is_wanted: bool,
    },
    /// The link went down.
    Aborted,
}

/// A measurement. In each round, the node sends one probe to each other member and one broadcast.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Measurement {
    plan: Plan,
    began: Instant,
    /// The time by which all members have measured.
    ends: Instant,
    interval: Duration,
    peers: Vec<PeerCounts>,
    stage: Stage,
    lateness: Duration,
    large_len: usize,
    broadcasts_sent: u8,
    rows: Vec<Measure>,
}

impl Measurement {
    /// Begins a measurement between `measurers`. The node sends no probes to addresses that are no members.
    pub(super) fn new(
        context: &Context,
        members: &Members,
        plan: Plan,
        measurers: &[MacAddr],
    ) -> Self {
        let own = measurers.iter().position(|&mac| context.is_own(mac));
        let (before, after) = measurers.split_at(own.unwrap_or(0));
        // If all members began with the same member, this member would get many probes at once.
        let others = after.iter().skip(1).chain(before);
        let is_present = |mac: &&MacAddr| members.peer(**mac).is_some_and(|it| !it.has_left());
        let mut peers: Vec<PeerCounts> = Vec::with_capacity(measurers.len());
        for &mac in others.filter(is_present) {
            if !context.is_own(mac) && peers.iter().all(|peer| peer.mac() != mac) {
                peers.push(PeerCounts::new(mac));
            }
        }
        let duration = plan.duration(measurers.len());
        let probes = u32::try_from(peers.len() + 1).unwrap_or(u32::MAX) * u32::from(plan.probes);
        Self {
            plan,
            began: context.now(),
            ends: context.now() + plan.time(measurers.len()),
            interval: duration.checked_div(probes).unwrap_or(duration),
            peers,
            stage: Stage::Probing {
                next: 0,
                due: context.now() + PREPARATION,
            },
            lateness: Duration::ZERO,
            large_len: FRAME_LEN_MAX,
            broadcasts_sent: 0,
            rows: Vec::new(),
        }
    }

    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    pub(super) const fn ends(&self) -> Instant {
        self.ends
    }

    pub(super) fn belongs_to(&self, surveyor: MacAddr, serial: u64) -> bool {
        self.plan.surveyor == surveyor && self.plan.serial == serial
    }

    pub(super) const fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Complete { .. })
    }

    pub(super) fn abort(&mut self) {
        self.stage = Stage::Aborted;
        // The node sends no more probes, so it may measure again after the usual time.
        self.ends = self.began;
    }

    /// Sends the results again if they are complete, unless they are old. Returns whether they are complete.
    pub(super) fn repeat_results(&mut self, now: Instant) -> bool {
        if let Stage::Complete {
            repeat_until,
            is_wanted,
            ..
        } = &mut self.stage
        {
            *is_wanted = now < *repeat_until;
        }
        self.is_complete()
    }

    /// Counts a probe or an answer that arrived.
    pub(super) fn note_probe(&mut self, envelope: Envelope, probe: Probe) {
        if self.is_complete() {
            return;
        }
        let peer = self.peers.iter_mut().find(|it| it.mac() == envelope.from);
        match peer {
            Some(peer) if probe.is_answer => peer.note_answer(probe.number, envelope.at),
            Some(peer) => peer.note_arrival(probe.number, envelope.broadcast),
            None => {}
        }
    }

    pub(super) fn on_timer(&mut self, context: &Context, members: &Members, out: &mut Output) {
        let now = context.now();
        match self.stage {
            Stage::Probing { next, due } if due <= now => {
                self.lateness = self.lateness.max(now.since(due));
                let count = (self.peers.len() + 1) * usize::from(self.plan.probes);
                if next < count {
                    self.send_probe(context, out, next);
                }
                if next + 1 < count {
                    let steps = u32::try_from(next + 1).unwrap_or(u32::MAX);
                    let planned = self.began + PREPARATION + self.interval.saturating_mul(steps);
                    self.stage = Stage::Probing {
                        next: next + 1,
                        due: planned.max(now + PROBE_GAP),
                    };
                } else {
                    let until = now + SETTLING;
                    self.stage = Stage::Settling { until };
                }
            }
            Stage::Settling { until } if until <= now => {
                self.rows = self.peers.iter().map(PeerCounts::row).collect();
                self.send_results(context, members, out, now + REPEAT_TIME);
            }
            Stage::Complete {
                repeat_until,
                next,
                is_wanted: true,
            } if next <= now => self.send_results(context, members, out, repeat_until),
            _ => {}
        }
    }

    fn send_probe(&mut self, context: &Context, out: &mut Output, step: usize) {
        let (round, place) = (step / (self.peers.len() + 1), step % (self.peers.len() + 1));
        let number = u8::try_from(round).unwrap_or(u8::MAX);
        let peer = self.peers.get_mut(place);
        let is_large = is_large(number) && peer.is_some();
        let probe = Probe {
            surveyor: self.plan.surveyor,
            serial: self.plan.serial,
            number,
            is_answer: false,
            sent_at: context.now(),
            padding_len: if is_large { PADDING_LEN_MAX } else { 0 },
        };
        if !probe.fits(context.mtu()) {
            return;
        }
        let to = if let Some(peer) = peer {
            peer.note_sent(number, context.now());
            peer.mac()
        } else {
            self.broadcasts_sent += 1;
            MacAddr::BROADCAST
        };
        out.send(to, Content::Survey(SurveyFrame::Probe(probe)));
    }

    fn send_results(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        repeat_until: Instant,
    ) {
        self.stage = Stage::Complete {
            repeat_until,
            next: context.now() + ANSWER_GAP,
            is_wanted: false,
        };
        if context.is_own(self.plan.surveyor) {
            return;
        }
        let (mtu, _) = members.smallest_mtu(context);
        let per_frame = mtu.saturating_sub(MEASURES_LEN) / size_of::<Measure>();
        let per_frame = per_frame.clamp(1, MEASURES_PER_FRAME_MAX);
        // A node without rows still sends a frame, so that the surveyor knows that it measured.
        for first in (0..self.rows.len().max(1)).step_by(per_frame) {
            let count = per_frame.min(self.rows.len() - first);
            let frame = SurveyFrame::Measures { first, count };
            out.send(self.plan.surveyor, Content::Survey(frame));
        }
    }

    pub(super) fn message(&self, first: usize, count: usize) -> Option<Message<'_>> {
        let measures = self.rows.get(first..)?.get(..count)?;
        Some(Message::Measures {
            serial: self.plan.serial,
            lateness: nanos(self.lateness),
            large_len: u16::try_from(self.large_len).unwrap_or(u16::MAX),
            broadcasts_sent: self.broadcasts_sent,
            rows: u8::try_from(self.rows.len()).unwrap_or(u8::MAX),
            measures,
        })
    }

    /// Returns the results for the surveyor on this node.
    pub(super) fn results(&self) -> MemberMeasures {
        MemberMeasures {
            lateness: self.lateness,
            large_len: u16::try_from(self.large_len).unwrap_or(u16::MAX),
            broadcasts_sent: self.broadcasts_sent,
            rows: self.rows.clone(),
        }
    }

    pub(super) const fn wake(&self) -> Option<Instant> {
        match self.stage {
            Stage::Probing { due, .. } => Some(due),
            Stage::Settling { until } => Some(until),
            Stage::Complete {
                next,
                is_wanted: true,
                ..
            } => Some(next),
            Stage::Complete { .. } | Stage::Aborted => None,
        }
    }
}
