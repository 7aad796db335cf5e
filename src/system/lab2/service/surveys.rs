//! Surveys for clients. Clients that ask at the same time share one survey.

use std::time::Duration;

use ring_codec::lab2::{PROBES_MAX, SPAN_MAX};
use ring_control::Reply;
use ring_control::lab2::MeasureRequest;
use ring_host::{Reaction, Server};
use ring_process::{Client, ClientId};
use ring_proto::lab2::{Command, Lab2};
use ring_proto::time::Now;
use ring_text::format_duration;

use super::super::survey::survey_reply;
use super::Service;

/// Minimum number of probes for a pair: with fewer probes, no probe is large.
const PROBES_MIN: u8 = 4;

/// Maximum number of clients that wait for a survey. The answer of a large ring is long.
const WAITING_MAX: usize = 8;

/// The clients that wait for a survey.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    waiting: Vec<ClientId>,
    stage: Stage,
}

/// The number of probes and the time of a measurement; `None` for a survey without a measurement.
type Measurement = Option<(u8, Duration)>;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// The machine does not know the survey yet.
    Wanted(Measurement),
    Running {
        measures: bool,
    },
}

impl Stage {
    const fn measures(self) -> bool {
        match self {
            Self::Idle => false,
            Self::Wanted(measurement) => measurement.is_some(),
            Self::Running { measures } => measures,
        }
    }
}

impl Surveys {
    /// Adds a client that waits for a survey. If no survey is running, requests one. Returns `false` if too many
    /// clients wait. In this case nothing changes.
    fn add(&mut self, client: ClientId, wanted: Measurement) -> bool {
        if self.waiting.len() == WAITING_MAX {
            return false;
        }
        self.waiting.push(client);
        if self.stage == Stage::Idle {
            self.stage = Stage::Wanted(wanted);
        }
        true
    }
}

impl Service {
    /// Requests reports of all members.
    pub(super) fn survey(&mut self, peer: Client) -> Reaction<Command> {
        self.wait_for_survey(peer, None)
    }

    /// Requests a measurement.
    pub(super) fn measure(
        &mut self,
        peer: Client,
        request: MeasureRequest,
        machine: &Lab2,
    ) -> Reaction<Command> {
        let MeasureRequest { probes, span_ms } = request;
        if !(PROBES_MIN..=PROBES_MAX).contains(&probes) || span_ms > SPAN_MAX {
            return Reaction::error(
                "cannot measure: a measurement has 4 to 64 probes and lasts at most 8,000 ms; correct the request",
            );
        }
        let stage = self.surveys.stage;
        if !stage.measures() {
            if stage != Stage::Idle {
                return Reaction::error(
                    "cannot measure: a survey of this node runs; try again in a second",
                );
            }
            if let Some(left) = machine.measure_delay() {
                return Reaction::Reply(Reply::Error(format!(
                    "cannot measure: the last measurement began a short time ago; try again in {}",
                    format_duration(left)
                )));
            }
        }
        let span = Duration::from_millis(span_ms.into());
        self.wait_for_survey(peer, Some((probes, span)))
    }

    fn wait_for_survey(&mut self, peer: Client, wanted: Measurement) -> Reaction<Command> {
        if self.locks.is_leaving() {
            return Reaction::error("cannot survey the ring: this ringd is shutting down");
        }
        if !self.surveys.add(peer.id, wanted) {
            return Reaction::error(
                "cannot survey the ring: eight clients already wait for a survey; try again in a second",
            );
        }
        self.changed_clients.push((peer.id, true));
        Reaction::Later
    }

    /// Returns the survey that the machine should begin.
    pub(in crate::system::lab2) fn take_wanted_survey(&mut self) -> Option<Measurement> {
        let Stage::Wanted(measurement) = self.surveys.stage else {
            return None;
        };
        let measures = measurement.is_some();
        self.surveys.stage = Stage::Running { measures };
        Some(measurement)
    }

    pub(super) fn forget_survey_of(&mut self, client: ClientId) {
        self.surveys.waiting.retain(|&waiting| waiting != client);
    }

    /// When the survey has ended, answers the clients that wait for it.
    pub(super) fn reply_to_surveys(&mut self, now: Now, server: &mut Server, machine: &Lab2) {
        if !matches!(self.surveys.stage, Stage::Running { .. }) || machine.is_surveying() {
            return;
        }
        self.surveys.stage = Stage::Idle;
        if self.surveys.waiting.is_empty() {
            return;
        }
        let reply = machine.survey_result().map_or_else(
            || Reply::Error("cannot survey the ring now; try again".to_owned()),
            |result| survey_reply(now.monotonic, result, machine.members()),
        );
        let waiting = std::mem::take(&mut self.surveys.waiting);
        server.send_to_all(now.monotonic, &waiting, &reply);
        for client in waiting {
            let lasting = self.watchers.contains(client) || self.involves(client);
            server.set_lasting(now.monotonic, client, lasting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, Surveys, WAITING_MAX};

    #[test]
    fn a_refused_client_begins_no_survey() {
        let mut surveys = Surveys::default();
        for client in 0..WAITING_MAX as u64 {
            assert!(surveys.add(client, None), "{client}");
        }
        assert_eq!(surveys.stage, Stage::Wanted(None));
        surveys.stage = Stage::Idle;
        assert!(!surveys.add(99, None));
        assert_eq!(surveys.stage, Stage::Idle);
    }
}
