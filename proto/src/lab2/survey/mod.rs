//! Surveys: a node asks the members for reports, and lets them measure the network between each other
//! (`docs/reference/lab2/survey.md`). No other part of the state machine depends on a survey.
//!
//! | file | holds |
//! |---|---|
//! | `surveyor` | the survey that this node runs, and its result |
//! | `answers` | the members that wait for this node's report |
//! | `measurement` | the measurement in which this node takes part |
//! | `peer_counts` | the probes between this node and one other member |
//! | `report` | the reports of nodes, and their texts |
//! | `data` | the data that a survey and the host exchange |

mod answers;
pub(super) mod data;
mod measurement;
mod peer_counts;
mod report;
mod surveyor;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{
    ETHERNET_HEADER_LEN, FRAME_LEN_MAX, Kind, Message, PADDING_LEN_MAX, SurveyPurpose,
};

use super::envelope::Envelope;
use super::machine::{Context, Output, Timer};
use super::members::{Members, Peer};
use crate::lab2::machine::Content;
use crate::time::Instant;
use answers::Answers;
use data::{ReportData, SurveyResult};
use measurement::{AnswerBudget, Measurement, Plan};
use surveyor::Surveyor;

pub(crate) use report::create_report;
pub use surveyor::survey_time_max;

/// Minimum time between the starts of two measurements in which a node takes part.
pub(crate) const MEASURE_GAP: Duration = Duration::from_secs(10);

const PADDING: [u8; PADDING_LEN_MAX] = [0; PADDING_LEN_MAX];

/// A frame of a survey to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) enum SurveyFrame {
    /// SURVEY to a group of members.
    Question {
        group: usize,
    },
    Report {
        serial: u64,
        busy: bool,
    },
    Probe(Probe),
    /// Some rows of the results.
    Measures {
        first: usize,
        count: usize,
    },
}

impl SurveyFrame {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Question { .. } => Kind::Survey,
            Self::Report { .. } => Kind::Report,
            Self::Probe(_) => Kind::Probe,
            Self::Measures { .. } => Kind::Measures,
        }
    }
}

/// A PROBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Probe {
    pub(super) surveyor: MacAddr,
    pub(super) serial: u64,
    pub(super) number: u8,
    pub(super) is_answer: bool,
    pub(super) sent_at: Instant,
    pub(super) padding_len: usize,
}

impl Probe {
    /// Whether the interface accepts the frame.
    const fn fits(self, mtu: usize) -> bool {
        FRAME_LEN_MAX - PADDING_LEN_MAX + self.padding_len <= ETHERNET_HEADER_LEN + mtu
    }
}

/// The surveys of one node.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Survey {
    surveyor: Option<Surveyor>,
    result: Option<SurveyResult>,
    /// The report that this node sent last.
    own: Option<ReportData>,
    answers: Answers,
    measurement: Option<Measurement>,
    budget: AnswerBudget,
    last_serial: u64,
}

impl Survey {
    /// Begins a survey. Does nothing if a survey runs, or if the last measurement began a short time ago. If the link
    /// is down, the survey ends at once.
    pub(crate) fn begin(
        &mut self,
        context: &Context,
        members: &Members,
        measurement: Option<(u8, Duration)>,
        own: ReportData,
    ) {
        if self.is_running() {
            return;
        }
        self.result = None;
        if measurement.is_some() && self.measure_delay(context).is_some() {
            return;
        }
        // All serials of a node must differ from each other, even after a restart.
        self.last_serial = context.clock().wall.max(self.last_serial + 1);
        self.own = Some(own.clone());
        let surveyor = Surveyor::new(context, members, self.last_serial, measurement, own);
        if let Some((plan, measurers)) = surveyor.measurement() {
            self.measurement = Some(Measurement::new(context, members, plan, measurers));
        }
        self.surveyor = Some(surveyor);
        if !context.is_up() {
            self.abort(context);
        }
    }

    pub(crate) const fn is_running(&self) -> bool {
        self.surveyor.is_some()
    }

    /// Returns the time by which the running survey ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.surveyor.as_ref().map(Surveyor::deadline)
    }

    /// Returns the result of the last survey.
    pub(crate) const fn result(&self) -> Option<&SurveyResult> {
        self.result.as_ref()
    }

    /// Returns the time until this node may take part in another measurement; `None` if it may take part now.
    pub(crate) fn measure_delay(&self, context: &Context) -> Option<Duration> {
        let measurement = self.measurement.as_ref()?;
        let until = measurement.ends().max(measurement.began() + MEASURE_GAP);
        let left = until.since(context.now());
        (!left.is_zero()).then_some(left)
    }

    /// Whether a member waits for this node's report, so that the host should report.
    pub(crate) fn wants_report(&self, context: &Context) -> bool {
        self.answers.are_due(context.now())
    }

    /// Sends this node's report to the members that wait for it.
    pub(crate) fn report(&mut self, context: &Context, out: &mut Output, own: ReportData) {
        self.own = Some(own);
        for (asker, serial, busy) in self.answers.take(context.now()) {
            let frame = SurveyFrame::Report { serial, busy };
            out.send(asker, Content::Survey(frame));
        }
    }

    /// Handles a received frame of a survey. Only frames of members count.
    pub(crate) fn on_frame(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        (envelope, message): (Envelope, &Message<'_>),
    ) {
        let from = envelope.from;
        if members.peer(from).is_none_or(Peer::has_left) {
            return;
        }
        match *message {
            Message::Survey {
                serial,
                purpose,
                probes,
                span,
                members: asked,
            } if asked.contains(&context.me()) => {
                let plan = Plan {
                    surveyor: from,
                    serial,
                    probes,
                    span: Duration::from_millis(span.into()),
                };
                let plan = Some(plan).filter(|_| purpose == SurveyPurpose::Measure);
                self.on_question(context, members, (from, serial), plan, asked);
            }
            Message::Report { serial, report } => {
                if let Some(surveyor) = &mut self.surveyor {
                    surveyor.on_report(context, envelope, serial, &report);
                }
            }
            Message::Measures { serial, .. } => {
                if let Some(surveyor) = &mut self.surveyor {
                    surveyor.on_measures(context.now(), from, serial, message);
                }
            }
            Message::Probe {
                surveyor,
                serial,
                number,
                is_answer,
                sent_at,
                padding,
            } => {
                let probe = Probe {
                    surveyor,
                    serial,
                    number,
                    is_answer,
                    sent_at: Instant::from_nanos(sent_at),
                    padding_len: padding.len(),
                };
                self.on_probe(context, out, envelope, probe);
            }
            _ => {}
        }
    }

    fn on_question(
        &mut self,
        context: &Context,
        members: &Members,
        (from, serial): (MacAddr, u64),
        plan: Option<Plan>,
        asked: &[MacAddr],
    ) {
        let known = self
            .measurement
            .as_mut()
            .filter(|it| it.belongs_to(from, serial));
        if let Some(measurement) = known {
            // The author already has this node's report if the results are missing.
            if measurement.repeat_results(context.now()) {
                return;
            }
            return self.answers.add((from, serial, false));
        }
        let is_busy = plan.is_some() && self.measure_delay(context).is_some();
        if let Some(plan) = plan.filter(|_| !is_busy) {
            self.measurement = Some(Measurement::new(context, members, plan, asked));
        }
        self.answers.add((from, serial, is_busy));
    }

    fn on_probe(&mut self, context: &Context, out: &mut Output, envelope: Envelope, probe: Probe) {
        let measurement = self.measurement.as_mut();
        let measurement = measurement.filter(|it| it.belongs_to(probe.surveyor, probe.serial));
        if let Some(measurement) = measurement {
            measurement.note_probe(envelope, probe);
        }
        let is_question = !probe.is_answer && !envelope.broadcast;
        if is_question && probe.fits(context.mtu()) && self.budget.try_take(context.now()) {
            let answer = Probe {
                is_answer: true,
                ..probe
            };
            out.send(envelope.from, Content::Survey(SurveyFrame::Probe(answer)));
        }
    }

    /// Sends the frames that are due.
    pub(crate) fn on_timer(&mut self, context: &Context, members: &Members, out: &mut Output) {
        if let Some(measurement) = &mut self.measurement {
            measurement.on_timer(context, members, out);
        }
        if let Some(surveyor) = &mut self.surveyor {
            let own = self.measurement.as_ref().filter(|it| it.is_complete());
            surveyor.collect_own_measures(context.now(), own.map(Measurement::results));
            surveyor.on_timer(context, out);
            if surveyor.is_over(context.now()) {
                self.end(context);
            }
        }
    }

    /// Returns the time of the next timeout.
    pub(crate) fn next_wake(&self, context: &Context) -> Option<Instant> {
        let wakes = [
            self.surveyor.as_ref().map(Surveyor::wake),
            self.measurement.as_ref().and_then(Measurement::wake),
            // A host that does not answer is not asked again and again.
            self.answers.wake().filter(|&at| at > context.now()),
        ];
        wakes.into_iter().flatten().min()
    }

    /// Ends the survey of this node with the answers that have arrived.
    fn end(&mut self, context: &Context) {
        if let Some(surveyor) = self.surveyor.take() {
            self.result = Some(surveyor.into_result(context.now()));
        }
    }

    /// Ends the survey of this node, and forgets the surveys of others. The node can no longer send.
    pub(crate) fn abort(&mut self, context: &Context) {
        self.end(context);
        if let Some(measurement) = &mut self.measurement {
            measurement.abort();
        }
        self.answers = Answers::default();
    }

    /// Returns the message of a frame. Returns `None` if the survey of the frame has ended.
    pub(crate) fn message(&self, frame: SurveyFrame) -> Option<Message<'_>> {
        match frame {
            SurveyFrame::Question { group } => Some(self.surveyor.as_ref()?.question(group)),
            SurveyFrame::Report { serial, busy } => {
                let report = report::encode(self.own.as_ref()?, busy);
                Some(Message::Report { serial, report })
            }
            SurveyFrame::Probe(probe) => Some(Message::Probe {
                surveyor: probe.surveyor,
                serial: probe.serial,
                number: probe.number,
                is_answer: probe.is_answer,
                sent_at: probe.sent_at.as_nanos(),
                padding: &PADDING[..probe.padding_len.min(PADDING_LEN_MAX)],
            }),
            SurveyFrame::Measures { first, count } => {
                self.measurement.as_ref()?.message(first, count)
            }
        }
    }

    /// Sets the timer of the surveys to the next timeout.
    pub(crate) fn schedule(&self, context: &Context, out: &mut Output) {
        match self.next_wake(context) {
            Some(at) => out.set(Timer::Survey, at),
            None => out.stop(Timer::Survey),
        }
    }
}
