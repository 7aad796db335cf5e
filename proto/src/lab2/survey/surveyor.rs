//! The survey that this node runs.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Message, NodeReport, PROBES_MAX, SPAN_MAX, SURVEYED_PER_FRAME_MAX, SurveyPurpose,
};

use super::SurveyFrame;
use super::data::{MemberMeasures, ReceivedReport, ReportData, SurveyResult, SurveyedNode};
use super::measurement::Plan;
use super::report::{decode, receive_report};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::members::Members;
use crate::time::Instant;

/// Number of times that a member is asked.
const ATTEMPTS: u32 = 3;
/// Time that a member has for its answer, before it is asked again.
const ANSWER_TIME: Duration = Duration::from_millis(100);

/// Returns the longest possible duration of a survey in a ring with this number of members.
pub fn survey_time_max(members: usize) -> Duration {
    let longest = plan(MacAddr::default(), 0, (u8::MAX, Duration::MAX));
    time_max(Some(longest), members)
}

fn plan(surveyor: MacAddr, serial: u64, (probes, span): (u8, Duration)) -> Plan {
    Plan {
        surveyor,
        serial,
        probes: probes.min(PROBES_MAX),
        span: span.min(Duration::from_millis(SPAN_MAX.into())),
    }
}

fn time_max(plan: Option<Plan>, members: usize) -> Duration {
    let groups = u32::try_from(members.div_ceil(SURVEYED_PER_FRAME_MAX)).unwrap_or(u32::MAX);
    let asking = ANSWER_TIME * ATTEMPTS;
    let measurers = members.min(SURVEYED_PER_FRAME_MAX);
    let measuring = plan.map(|plan| plan.time(measurers) + asking);
    // The last summand is a reserve for a slow process.
    asking.saturating_mul(groups) + measuring.unwrap_or_default() + Duration::from_millis(500)
}

/// Results that arrive in several frames, and the number of all rows.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Arriving {
    measures: MemberMeasures,
    rows: usize,
}

impl Arriving {
    fn is_complete(&self) -> bool {
        self.measures.rows.len() >= self.rows
    }
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Asked {
    mac: MacAddr,
    report: Option<ReceivedReport>,
    measures: Option<Arriving>,
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
enum Stage {
    /// Members of the group with this number are asked for reports. `attempts` counts the questions to them.
    Reports {
        group: usize,
        attempts: u32,
    },
    /// The members measure.
    Measuring,
    /// Members are asked for missing results.
    Measures {
        attempts: u32,
    },
    Over,
}

/// A survey. Members are asked in groups, so that not all members of a large ring answer at the same time.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Surveyor {
    serial: u64,
    plan: Option<Plan>,
    began: Instant,
    /// The time of the first question to each group.
    asked_at: Vec<Instant>,
    deadline: Instant,
    next: Instant,
    stage: Stage,
    /// The addresses of `asked`, for frames.
    macs: Vec<MacAddr>,
    asked: Vec<Asked>,
}

impl Surveyor {
    pub(super) fn new(
        context: &Context,
        members: &Members,
        serial: u64,
        measurement: Option<(u8, Duration)>,
        own: ReportData,
    ) -> Self {
        let now = context.now();
        let mut macs: Vec<MacAddr> = members
            .in_order()
            .filter(|(_, peer)| !peer.has_left())
            .map(|(member, _)| member.mac)
            .collect();
        // A node without an address is not in its table.
        macs.retain(|&mac| !context.is_own(mac));
        let after = macs.partition_point(|&mac| mac < context.me());
        macs.rotate_left(after);
        macs.insert(0, context.me());
        let plan = measurement.map(|it| plan(context.me(), serial, it));
        let asked = macs.iter().map(|&mac| Asked {
            mac,
            report: None,
            measures: None,
        });
        let mut asked: Vec<_> = asked.collect();
        asked[0].report = Some(receive_report(own, context, now, now));
        let time = time_max(plan, macs.len());
        Self {
            serial,
            plan,
            began: now,
            asked_at: Vec::new(),
            deadline: now + time,
            next: now,
            stage: Stage::Reports {
                group: 0,
                attempts: 0,
            },
            macs,
            asked,
        }
    }

    /// Returns the parameters of the measurement, and the members that measure; `None` if the survey is no measurement.
    pub(super) fn measurement(&self) -> Option<(Plan, &[MacAddr])> {
        Some((self.plan?, self.group(0)))
    }

    fn measuring_time(&self) -> Option<Duration> {
        let (plan, measurers) = self.measurement()?;
        Some(plan.time(measurers.len()))
    }

    fn group(&self, group: usize) -> &[MacAddr] {
        let mut groups = self.macs.chunks(SURVEYED_PER_FRAME_MAX);
        groups.nth(group).unwrap_or_default()
    }

    pub(super) fn question(&self, group: usize) -> Message<'_> {
        let plan = self.plan.filter(|_| group == 0);
        let span = plan.map_or(0, |plan| plan.span.as_millis());
        Message::Survey {
            serial: self.serial,
            purpose: if plan.is_some() {
                SurveyPurpose::Measure
            } else {
                SurveyPurpose::Report
            },
            probes: plan.map_or(0, |plan| plan.probes),
            span: u16::try_from(span).unwrap_or(SPAN_MAX),
            members: self.group(group),
        }
    }

    pub(super) fn on_report(
        &mut self,
        context: &Context,
        envelope: Envelope,
        serial: u64,
        report: &NodeReport<'_>,
    ) {
        let is_present = serial == self.serial;
        let asked = self.asked.iter().position(|it| it.mac == envelope.from);
        let Some(at) = asked.filter(|_| is_present) else {
            return;
        };
        // If this node has not asked the group of the member yet, the member has nothing to report.
        let Some(&asked_at) = self.asked_at.get(at / SURVEYED_PER_FRAME_MAX) else {
            return;
        };
        let asked = &mut self.asked[at];
        if asked.report.is_none() {
            let data = decode(report);
            let report = receive_report(data, context, asked_at, envelope.at);
            asked.report = Some(report);
        }
        self.hurry(context.now());
    }

    pub(super) fn on_measures(
        &mut self,
        now: Instant,
        from: MacAddr,
        serial: u64,
        message: &Message<'_>,
    ) {
        let Message::Measures {
            lateness,
            large_len,
            broadcasts_sent,
            rows,
            measures,
            ..
        } = *message
        else {
            return;
        };
        let measurers = self.measurement().map_or(0, |(_, group)| group.len());
        let Some(asked) = self.asked[..measurers]
            .iter_mut()
            .find(|it| it.mac == from && serial == self.serial)
        else {
            return;
        };
        let arriving = asked.measures.get_or_insert_with(|| Arriving {
            measures: MemberMeasures {
                lateness: Duration::from_nanos(lateness),
                large_len,
                broadcasts_sent,
                rows: Vec::new(),
            },
            rows: rows.into(),
        });
        for row in measures {
            let known = &mut arriving.measures.rows;
            let is_new = known.iter().all(|it| it.peer != row.peer);
            if is_new && known.len() < SURVEYED_PER_FRAME_MAX {
                known.push(*row);
            }
        }
        self.hurry(now);
    }

    /// Takes the results of this node, if they are complete.
    pub(super) fn collect_own_measures(&mut self, now: Instant, own: Option<MemberMeasures>) {
        if let (Some(own), Stage::Measuring | Stage::Measures { .. }) = (own, self.stage) {
            let rows = own.rows.len();
            self.asked[0].measures.get_or_insert(Arriving {
                measures: own,
                rows,
            });
            self.hurry(now);
        }
    }

    /// Ends the wait for answers if all answers of the stage have arrived.
    fn hurry(&mut self, now: Instant) {
        let is_complete = match self.stage {
            Stage::Reports { group, .. } => self.unanswered(group).next().is_none(),
            Stage::Measuring | Stage::Measures { .. } => self.without_measures().next().is_none(),
            Stage::Over => true,
        };
        if is_complete {
            self.next = self.next.min(now);
        }
    }

    fn unanswered(&self, group: usize) -> impl Iterator<Item = MacAddr> {
        let mut groups = self.asked.chunks(SURVEYED_PER_FRAME_MAX);
        let group = groups.nth(group).unwrap_or_default();
        let missing = group.iter().filter(|it| it.report.is_none());
        missing.map(|it| it.mac)
    }

    fn without_measures(&self) -> impl Iterator<Item = MacAddr> {
        let measurers = self.measurement().map_or(0, |(_, group)| group.len());
        let refuses = |it: &Asked| it.report.as_ref().is_none_or(|it| it.data.busy);
        // A member that sent no report would send no results either.
        let asked = self.asked[..measurers]
            .iter()
            .filter(move |it| !refuses(it));
        let missing = asked.filter(|it| !it.measures.as_ref().is_some_and(Arriving::is_complete));
        missing.map(|it| it.mac)
    }

    pub(super) fn on_timer(&mut self, context: &Context, out: &mut Output) {
        let now = context.now();
        if self.next > now {
            return;
        }
        self.next = now + ANSWER_TIME;
        match self.stage {
            Stage::Reports { group, attempts } => self.ask_group(now, out, group, attempts),
            Stage::Measuring => self.ask_for_measures(out, 0),
            Stage::Measures { attempts } => self.ask_for_measures(out, attempts),
            Stage::Over => {}
        }
    }

    fn ask_group(&mut self, now: Instant, out: &mut Output, group: usize, attempts: u32) {
        let question = Content::Survey(SurveyFrame::Question { group });
        let is_answered = self.unanswered(group).next().is_none();
        if attempts < ATTEMPTS && !is_answered {
            if attempts == 0 {
                self.asked_at.push(now);
                out.broadcast(question);
            } else {
                // Broadcasts may not reach these members, but unicast frames may.
                for mac in self.unanswered(group) {
                    out.send(mac, question);
                }
            }
            let attempts = attempts + 1;
            self.stage = Stage::Reports { group, attempts };
        } else if group + 1 < self.macs.len().div_ceil(SURVEYED_PER_FRAME_MAX) {
            self.stage = Stage::Reports {
                group: group + 1,
                attempts: 0,
            };
            self.next = now;
        } else if let Some(time) = self.measuring_time() {
            self.stage = Stage::Measuring;
            // A member may begin only after the last repetition of the question.
            self.next = now.max(self.began + time + ANSWER_TIME * (ATTEMPTS - 1));
        } else {
            self.stage = Stage::Over;
        }
    }

    fn ask_for_measures(&mut self, out: &mut Output, attempts: u32) {
        let missing: Vec<_> = self.without_measures().collect();
        if missing.is_empty() || attempts == ATTEMPTS {
            self.stage = Stage::Over;
            return;
        }
        let own = self.macs[0];
        for mac in missing.into_iter().filter(|&mac| mac != own) {
            let question = SurveyFrame::Question { group: 0 };
            out.send(mac, Content::Survey(question));
        }
        self.stage = Stage::Measures {
            attempts: attempts + 1,
        };
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        matches!(self.stage, Stage::Over) || now >= self.deadline
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn wake(&self) -> Instant {
        self.next.min(self.deadline)
    }

    pub(super) fn into_result(self, now: Instant) -> SurveyResult {
        let is_limited = self.plan.is_some() && self.asked.len() > SURVEYED_PER_FRAME_MAX;
        let nodes = self.asked.into_iter().map(|asked| {
            let complete = asked.measures.filter(Arriving::is_complete);
            SurveyedNode {
                mac: asked.mac,
                report: asked.report,
                measures: complete.map(|it| it.measures),
            }
        });
        SurveyResult {
            took: now.since(self.began),
            is_limited,
            nodes: nodes.collect(),
        }
    }
}
