//! Asking all clients what they hold (`docs/ftn.md`, section 4).

use std::net::SocketAddr;

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::Configuration;
use crate::ftn::server::Event;
use crate::ftn::server::group::Leadership;
use crate::ftn::server::knowledge::Survey;
use crate::time::Instant;

/// How many sessions a call asks at most.
const ASKED: usize = 1_024;

impl Server {
    pub(super) fn begin_survey(&mut self, now: Instant, configuration: &Configuration) {
        let is_booting = configuration.state(self.index) == ServerState::Booting;
        let senders = self
            .others()
            .filter(|&server| is_booting && !configuration.is_down(server));
        let mut survey = Survey::new(configuration.number(), is_booting, senders);
        for (id, address) in self.sessions.iter() {
            survey.add(now, id, address);
        }
        self.out.event(Event::SurveyBegun {
            configuration: survey.configuration(),
            sessions: survey.awaited().count(),
        });
        self.knowledge.begin_survey(survey);
        self.on_survey_due(now);
    }

    /// A session is new in the list while a survey is under way.
    pub(super) fn survey_also(&mut self, now: Instant, id: i32, address: SocketAddr) {
        if let Some(survey) = self.knowledge.survey_mut() {
            survey.add(now, id, address);
            self.on_survey_due(now);
        }
    }

    /// Asks those that are to be asked.
    pub(super) fn on_survey_due(&mut self, now: Instant) {
        for _ in 0..ASKED {
            let Some(survey) = self.knowledge.survey_mut() else {
                return;
            };
            let Some((id, address)) = survey.next(now) else {
                return;
            };
            self.send_config(address, id);
        }
    }

    /// Gives a survey up. What it has learnt from clients alone they will say again.
    pub(super) fn abort_survey(&mut self) {
        let Some(survey) = self.knowledge.take_survey() else {
            return;
        };
        let configuration = survey.configuration();
        for (id, gained) in survey.into_gained() {
            if !gained.has_data_of_servers() {
                self.tokens.remove(id);
            }
        }
        self.out.event(Event::SurveyAborted { configuration });
    }

    /// Ends the survey if all that it waits for has come.
    pub(super) fn try_end_survey(&mut self, now: Instant) {
        let Some(survey) = self.knowledge.survey() else {
            return;
        };
        let leads = self.leader() == Some(self.index);
        let leader = self.leader().map(|leader| self.view.state(leader));
        let is_over = survey.configuration() == self.view.number()
            && survey.is_whole()
            && (!survey.is_booting() || leads || leader == Some(ServerState::Ready))
            && !self.is_in_grace()
            && self.knowledge.sweep().is_none()
            && self.own != ServerState::Down
            && self.is_proven()
            && self.is_in_force(now);
        if is_over && let Some(survey) = self.knowledge.take_survey() {
            self.end_survey(now, survey);
        }
    }

    fn end_survey(&mut self, now: Instant, survey: Survey) {
        let configuration = survey.configuration();
        self.install_gained(now, survey.into_gained());
        self.knowledge.settle(self.view.configuration().cloned());
        self.out.event(Event::SurveyEnded { configuration });
        // The leader may have heard of an earlier survey's end before it changed the configuration: then this
        // server is READY there, and BOOTING by its own word.
        if self.own == ServerState::Ready {
            return;
        }
        self.set_own(ServerState::Ready);
        if self.leader() == Some(self.index) {
            self.change(now, &[(self.index, ServerState::Ready)]);
        } else {
            self.heartbeat(now);
        }
    }

    /// Whether this is a leader that adopts sessions.
    pub(super) fn is_in_grace(&self) -> bool {
        self.role.as_leader().is_some_and(Leadership::is_in_grace)
    }
}
