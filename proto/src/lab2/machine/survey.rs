//! Connects the surveys with the other parts of the state machine. A survey reads these parts, but changes none.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message};

use crate::lab2::envelope::Envelope;
use crate::lab2::survey::create_report;
use crate::lab2::{Event, HostReport, Lab2, ReportData, State, SurveyRequest, SurveyResult};

/// Whether a message belongs to a survey.
pub(super) const fn is_of_survey(message: &Message<'_>) -> bool {
    matches!(
        message,
        Message::Survey { .. }
            | Message::Report { .. }
            | Message::Probe { .. }
            | Message::Measures { .. }
    )
}

impl Lab2 {
    pub(super) fn begin_survey(&mut self, request: &SurveyRequest) {
        let own = self.report_data(&request.own);
        let (context, members) = (&self.context, &self.members);
        (self.survey).begin(context, members, request.measurement, own);
        self.schedule_survey();
    }

    /// Sends the report of this node to the members that wait for it.
    pub(super) fn report(&mut self, host: &HostReport) {
        if !self.context.is_up() {
            return;
        }
        let own = self.report_data(host);
        self.survey.report(&self.context, &mut self.out, own);
        self.schedule_survey();
    }

    fn report_data(&self, host: &HostReport) -> ReportData {
        let is_owner = self.state() == State::Owner;
        let holder = self.diagnostics.own_work().filter(|_| is_owner);
        let node = (self.state(), self.grade());
        create_report(&self.context, &self.members, node, holder, host)
    }

    /// Handles a received frame of a survey. The frame has no other effect. It does not even count as a sign that its
    /// author is alive.
    pub(super) fn on_survey_frame(&mut self, frame: &Frame<'_>, age: Duration) {
        let kind = frame.message.kind();
        self.event(Event::Received { kind });
        if self.has_left() {
            return;
        }
        let envelope = Envelope {
            from: frame.author,
            broadcast: frame.destination == MacAddr::BROADCAST,
            at: self.context.now().before(age),
            backing: None,
            standing: None,
        };
        let (context, members) = (&self.context, &self.members);
        (self.survey).on_frame(context, members, &mut self.out, (envelope, &frame.message));
        self.schedule_survey();
    }

    pub(super) fn on_survey_due(&mut self) {
        let (context, members) = (&self.context, &self.members);
        self.survey.on_timer(context, members, &mut self.out);
        self.schedule_survey();
    }

    fn schedule_survey(&mut self) {
        self.survey.schedule(&self.context, &mut self.out);
    }

    /// Whether a member waits for a report of this node. The host answers with
    /// [`Command::Report`](crate::lab2::Command::Report).
    pub fn wants_report(&self) -> bool {
        self.survey.wants_report(&self.context)
    }

    /// Whether a survey of this node runs.
    pub const fn is_surveying(&self) -> bool {
        self.survey.is_running()
    }

    /// Returns the result of this node's last survey.
    pub const fn survey_result(&self) -> Option<&SurveyResult> {
        self.survey.result()
    }

    /// Returns the time until this node may take part in another measurement; `None` if it may take part now.
    pub fn measure_delay(&self) -> Option<Duration> {
        self.survey.measure_delay(&self.context)
    }
}
