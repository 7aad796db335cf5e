//! Surveys of all clients' tokens (`docs/token-service/protocol/surveys.md` V1 to V9).

use std::net::SocketAddr;

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::Configuration;
use crate::ftn::server::Event;
use crate::ftn::server::group::Leadership;
use crate::ftn::server::knowledge::Survey;
use crate::time::Instant;

/// Maximum number of sessions to which one call sends a question.
// The next call asks the other sessions, so that answers are read in between.
const QUESTIONS_PER_CALL_MAX: usize = 1_024;

impl Server {
    pub(super) fn begin_survey(&mut self, now: Instant, configuration: &Configuration) {
        let is_booting = configuration.state(self.index) == ServerState::Booting;
        let senders = self
            .other_servers()
            // Only a BOOTING server lacks tokens that another server still has.
            .filter(|&server| is_booting && !configuration.is_down(server));
        let mut survey = Survey::new(configuration.number(), is_booting, senders);
        for (id, address) in self.sessions.iter() {
            survey.add(now, id, address);
        }
        self.out.report(Event::SurveyBegun {
            configuration: survey.configuration(),
            sessions: survey.awaited_sessions().count(),
        });
        self.knowledge.begin_survey(survey);
        self.on_survey_due(now);
    }

    /// If a survey runs, adds a new session to it.
    pub(super) fn survey_session(&mut self, now: Instant, id: i32, address: SocketAddr) {
        if let Some(survey) = self.knowledge.survey_mut() {
            survey.add(now, id, address);
            self.on_survey_due(now);
        }
    }

    /// Asks the sessions that are due.
    pub(super) fn on_survey_due(&mut self, now: Instant) {
        for _ in 0..QUESTIONS_PER_CALL_MAX {
            let Some(survey) = self.knowledge.survey_mut() else {
                return;
            };
            let Some((id, address)) = survey.next(now) else {
                return;
            };
            self.send_config(address, id);
        }
    }

    /// Stops a survey. Tokens that only clients named are removed, because clients will name them again.
    pub(super) fn abort_survey(&mut self) {
        let Some(survey) = self.knowledge.take_survey() else {
            return;
        };
        let configuration = survey.configuration();
        for (id, surveyed) in survey.into_tokens() {
            if !surveyed.has_data_of_servers() {
                self.tokens.remove(id);
            }
        }
        self.out.report(Event::SurveyAborted { configuration });
    }

    /// Ends the survey if all expected messages have arrived.
    pub(super) fn try_end_survey(&mut self, now: Instant) {
        let Some(survey) = self.knowledge.survey() else {
            return;
        };
        let leads = self.leader() == Some(self.index);
        let leader = self.leader().map(|leader| self.view.state(leader));
        let is_over = survey.configuration() == self.view.number()
            && survey.is_whole()
            && (!survey.is_booting() || leads || leader == Some(ServerState::Ready))
            // During a grace more sessions may return with tokens.
            && !self.is_in_grace()
            && self.knowledge.sweep().is_none()
            && self.own_state != ServerState::Down
            // A leader that does not know the configuration could still be elected. It would show other servers as
            // responsible.
            && self.is_proven()
            && self.is_in_force(now);
        if is_over && let Some(survey) = self.knowledge.take_survey() {
            self.end_survey(now, survey);
        }
    }

    fn end_survey(&mut self, now: Instant, survey: Survey) {
        let configuration = survey.configuration();
        self.apply_survey_result(now, survey.into_tokens());
        self.knowledge.settle(self.view.configuration().cloned());
        self.out.report(Event::SurveyEnded { configuration });
        // The leader may show this server READY because of an earlier survey, although the server's own state is
        // BOOTING.
        if self.own_state == ServerState::Ready {
            return;
        }
        self.set_own_state(ServerState::Ready);
        if self.leader() == Some(self.index) {
            self.change_states(now, &[(self.index, ServerState::Ready)]);
        } else {
            self.send_heartbeat(now);
        }
    }

    /// Whether this server is a leader in its grace. During the grace, a leader adopts sessions.
    pub(super) fn is_in_grace(&self) -> bool {
        self.role.as_leader().is_some_and(Leadership::is_in_grace)
    }
}
