//! Asking all clients what they hold (`docs/ftn.md`, section 4).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ring_codec::ftn::ServerState;

use super::claims::Gained;
use super::leader::Leadership;
use super::options::{GAINED_BYTES, PART_BYTES};
use super::parts::{Part, Parts};
use super::{Event, Server};
use crate::backoff::Backoff;
use crate::ftn::{Configuration, RETRY, RETRY_MAX};
use crate::time::Instant;

/// How many sessions a call asks at most.
const ASKED: usize = 1_024;

/// What ends with a survey.
#[derive(Debug, Clone, Hash)]
pub(super) struct Survey {
    pub(super) configuration: u64,
    /// The server is BOOTING: it also awaits what the others hand over.
    is_booting: bool,
    pub(super) awaited: BTreeMap<i32, Awaited>,
    /// How many parts of the answers of `awaited` have come.
    parts: usize,
    /// When to ask whom again.
    due: BTreeSet<(Instant, i32)>,
    /// What has come of the TRANSFER of each server that is to send one.
    pub(super) transfers: BTreeMap<usize, Parts>,
    /// What is known of the tokens that the server did not know.
    pub(super) gained: BTreeMap<u32, Gained>,
}

/// A session whose answer is awaited.
#[derive(Debug, Clone, Hash)]
pub(super) struct Awaited {
    address: SocketAddr,
    /// `None`: it is to be asked for the first time.
    backoff: Option<Backoff>,
    parts: Parts,
}

/// What a part of a session's answer has led to.
pub(super) struct Answered {
    pub(super) part: Part,
    /// The session has answered all.
    pub(super) is_whole: bool,
    /// How many parts have come.
    pub(super) parts: usize,
}

impl Survey {
    /// A session is to be asked.
    fn add(&mut self, now: Instant, id: i32, address: SocketAddr) {
        let awaited = Awaited {
            address,
            backoff: None,
            parts: Parts::default(),
        };
        self.awaited.insert(id, awaited);
        self.due.insert((now, id));
    }

    /// A session has answered, or is no more.
    pub(super) fn remove(&mut self, id: i32) {
        let Some(awaited) = self.awaited.remove(&id) else {
            return;
        };
        self.parts -= awaited.parts.len();
        if let Some(backoff) = awaited.backoff {
            self.due.remove(&(backoff.due(), id));
        }
    }

    /// A part of a session's answer, which is no longer awaited once all have come; `None`: none is awaited.
    pub(super) fn take(&mut self, id: i32, part: u32, of: u32) -> Option<Answered> {
        let awaited = self.awaited.get_mut(&id)?;
        let part = awaited.parts.take(part, of);
        self.parts += usize::from(part == Part::New);
        let (is_whole, parts) = (awaited.parts.is_whole(), awaited.parts.len());
        if is_whole {
            self.remove(id);
        }
        Some(Answered {
            part,
            is_whole,
            parts,
        })
    }

    /// What it takes until its end, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.gained.len() * GAINED_BYTES + self.parts * PART_BYTES
    }

    /// When somebody is to be asked.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The next that is to be asked by `now`.
    fn next(&mut self, now: Instant) -> Option<(i32, SocketAddr)> {
        loop {
            let (due, id) = self.due.first().copied().filter(|(due, _)| *due <= now)?;
            self.due.remove(&(due, id));
            let Some(awaited) = self.awaited.get_mut(&id) else {
                continue;
            };
            let backoff = match awaited.backoff {
                None => Backoff::new(now, RETRY),
                Some(mut backoff) => {
                    backoff.repeated(now, RETRY_MAX);
                    backoff
                }
            };
            awaited.backoff = Some(backoff);
            self.due.insert((backoff.due(), id));
            return Some((id, awaited.address));
        }
    }
}

impl Server {
    pub(super) fn begin_survey(&mut self, now: Instant, configuration: &Configuration) {
        let is_booting = configuration.state(self.index) == ServerState::Booting;
        let senders = self
            .others()
            .filter(|&server| is_booting && !configuration.is_down(server));
        let mut survey = Survey {
            configuration: configuration.number(),
            is_booting,
            awaited: BTreeMap::new(),
            parts: 0,
            due: BTreeSet::new(),
            transfers: senders.map(|server| (server, Parts::default())).collect(),
            gained: BTreeMap::new(),
        };
        for (id, address) in self.sessions.iter() {
            survey.add(now, id, address);
        }
        self.out.event(Event::SurveyBegun {
            configuration: survey.configuration,
            sessions: survey.awaited.len(),
        });
        self.knowledge.survey = Some(survey);
        self.on_survey_due(now);
    }

    /// A session is new in the list while a survey is under way.
    pub(super) fn survey_also(&mut self, now: Instant, id: i32, address: SocketAddr) {
        if let Some(survey) = &mut self.knowledge.survey {
            survey.add(now, id, address);
            self.on_survey_due(now);
        }
    }

    /// Asks those that are to be asked.
    pub(super) fn on_survey_due(&mut self, now: Instant) {
        for _ in 0..ASKED {
            let Some(survey) = &mut self.knowledge.survey else {
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
        let Some(survey) = self.knowledge.survey.take() else {
            return;
        };
        for (id, gained) in survey.gained {
            if !gained.has_data_of_servers() {
                self.tokens.remove(id);
            }
        }
        let configuration = survey.configuration;
        self.out.event(Event::SurveyAborted { configuration });
    }

    /// Ends the survey if all that it waits for has come.
    pub(super) fn try_end_survey(&mut self, now: Instant) {
        let Some(survey) = &self.knowledge.survey else {
            return;
        };
        let leads = self.leader() == Some(self.index);
        let leader = self.leader().map(|leader| self.view.state(leader));
        let is_over = survey.configuration == self.view.number()
            && survey.awaited.is_empty()
            && survey.transfers.values().all(Parts::is_whole)
            && (!survey.is_booting || leads || leader == Some(ServerState::Ready))
            && !self.is_in_grace()
            && self.knowledge.sweep.is_none()
            && self.own != ServerState::Down
            && self.is_proven()
            && self.is_in_force(now);
        if is_over && let Some(survey) = self.knowledge.survey.take() {
            self.end_survey(now, survey);
        }
    }

    fn end_survey(&mut self, now: Instant, survey: Survey) {
        let configuration = survey.configuration;
        self.install_gained(now, survey.gained);
        self.knowledge.settled = self.view.configuration.clone();
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
