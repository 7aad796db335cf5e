//! Surveys: nodes that ask all members for reports, and the check that each survey ends.

use std::time::Duration;

use ring_proto::lab2::{Command, Grade, HostReport, NodeHealth, SurveyRequest};

use super::Inspect;
use super::outcome::Rule;
use super::system::World;

/// The maximum delay of the end of a survey, because of a loop iteration and because of a frame that the process reads
/// first.
const DELAY_MAX: Duration = Duration::from_secs(1);

impl<M: Inspect> World<M> {
    /// Begins a survey of a node; for a measurement, the members also send this number of probes during this time.
    pub(super) fn survey(&mut self, at: usize, measurement: Option<(u8, Duration)>) {
        let own = host_report();
        let request = SurveyRequest { measurement, own };
        self.command(at, Command::Survey(Box::new(request)));
    }

    /// If members wait for a report of the node, lets the node report.
    pub(super) fn answer_survey(&mut self, at: usize) {
        if self.machine(at).is_some_and(M::wants_report) {
            self.command(at, Command::Report(Box::new(host_report())));
        }
    }

    /// Checks that no survey is still running after its deadline.
    pub(super) fn check_surveys(&mut self) {
        for at in self.live().collect::<Vec<_>>() {
            let now = self.nodes[at].clock.now(self.now).monotonic;
            let deadline = self.machine(at).and_then(M::survey_deadline);
            if let Some(late) = deadline.map(|deadline| now.since(deadline))
                && late > DELAY_MAX
            {
                let what = format!("{late:?} after its deadline");
                self.report(Rule::SurveyEnds, what);
            }
        }
    }
}

fn host_report() -> HostReport {
    HostReport {
        up: Duration::ZERO,
        lateness: Duration::ZERO,
        health: NodeHealth::Degraded,
        required_grade: Grade::Alone,
        troubles: vec!["a trouble of the node".to_owned()],
    }
}
