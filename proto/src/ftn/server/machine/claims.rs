//! Handles two kinds of messages about tokens that this server did not know: claims of clients, and data from other
//! servers (`docs/token-service/protocol/surveys.md` V10 to V15).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::List;
use ring_codec::ftn::{Access, Token as Entry};

use super::Server;
use crate::ftn::catalog::{HoldKind, Marker};
use crate::ftn::server::knowledge::{PartStatus, Source, SurveyedToken};
use crate::ftn::server::options::{PART_BYTES, SURVEYED_TOKEN_BYTES, TOKEN_BYTES};
use crate::ftn::server::{DropReason, Event};
use crate::ftn::{DATA_BYTES_MAX, NAME_BYTES_MAX, WINDOW};
use crate::time::Instant;

impl Server {
    /// Handles CATALOG of a session.
    pub(super) fn on_catalog(
        &mut self,
        now: Instant,
        from: SocketAddr,
        session: i32,
        holdings: List<'_, Entry<'_>>,
    ) {
        let mut entries = holdings.iter().peekable();
        let marker = match entries.peek() {
            Some(first) if first.name.is_empty() => match Marker::parse(first.data) {
                Some(marker) => Some(marker),
                None => return self.drop(from, DropReason::Malformed),
            },
            _ => None,
        };
        if marker.is_some() {
            entries.next();
        }
        // All checks come before `take`: a part that is dropped must stay missing, so that the session sends it again.
        if !holdings.iter().all(|entry| is_legal(&entry)) {
            return self.drop(from, DropReason::TooLong);
        }
        let Some(survey) = self.knowledge.survey() else {
            return self.drop(from, DropReason::Late);
        };
        // A CATALOG without a marker comes from another implementation, and answers any survey.
        let answers = marker.is_none_or(|marker| marker.configuration == survey.configuration());
        if !answers || !survey.is_awaited(session) {
            return self.drop(from, DropReason::Late);
        }
        let claims = holdings.iter().filter(|entry| !entry.name.is_empty());
        let bytes =
            claims.map(|it| it.name.len() + it.data.len() + TOKEN_BYTES + SURVEYED_TOKEN_BYTES);
        if !self.free_memory_in_survey(PART_BYTES + bytes.sum::<usize>()) {
            return self.drop(from, DropReason::Memory);
        }
        let survey = self.knowledge.survey_mut();
        let Some(survey) = survey else {
            return self.drop(from, DropReason::Late);
        };
        let (part, parts) = marker.map_or((0, 1), |marker| (marker.part, marker.parts));
        let Some(answered) = survey.take(session, part, parts) else {
            return self.drop(from, DropReason::Late);
        };
        let is_whole = answered.is_whole;
        match answered.part {
            PartStatus::New => {}
            // The first copy has already added its claims.
            PartStatus::Duplicate => {
                self.out.counters.duplicates += 1;
                return;
            }
            PartStatus::Inconsistent => return self.drop(from, DropReason::Malformed),
        }
        if let (Some(marker), Some(known)) = (marker, self.sessions.get_mut(session)) {
            // Parts of an earlier answer, with a lower FLOOR, can arrive late.
            known.floor = known.floor.max(marker.floor);
        }
        let mut holding = HoldKind::Unknown;
        for entry in entries {
            if !entry.name.is_empty() {
                self.claim(now, session, holding, &entry);
            } else if let Some(kind) = HoldKind::parse(entry.data) {
                holding = kind;
            }
        }
        if is_whole {
            self.try_end_survey(now);
        // A client sends WINDOW parts for each question. The server asks again at once, because it would be slow to
        // wait for the timeout.
        } else if answered.parts.is_multiple_of(WINDOW) {
            self.send_config(from, session);
        }
    }

    /// Records a session's claim to hold a token.
    fn claim(&mut self, now: Instant, session: i32, holding: HoldKind, entry: &Entry<'_>) {
        if !self.is_surveyed(entry.name) {
            return;
        }
        let id = self.survey_token(now, entry.name);
        self.tokens.link_session(session, id);
        let is_new = self
            .tokens
            .change(now, id, |token| token.party_mut(session).1);
        if let Some(surveyed) = self.surveyed_token_mut(id)
            // A client lists each token once.
            && is_new == Some(true)
        {
            surveyed.add_claim(session, holding);
        }
        self.offer_data(now, id, Source::from_client(holding, session), entry.data);
    }

    /// Whether this server is responsible for this token but does not know it.
    fn is_surveyed(&self, name: &[u8]) -> bool {
        let configuration = self.view.configuration();
        let responsible = configuration.and_then(|c| self.servers.responsible(name, c));
        responsible == Some(self.index) && !self.is_known(name)
    }

    fn surveyed_token_mut(&mut self, id: u32) -> Option<&mut SurveyedToken> {
        self.knowledge.survey_mut()?.token_mut(id)
    }

    /// Returns a token of the survey. If the survey does not contain the token, adds it.
    fn survey_token(&mut self, now: Instant, name: &[u8]) -> u32 {
        let id = if let Some(id) = self.tokens.find(name) {
            self.retain_for_survey(now, id);
            id
        } else {
            let id = self.tokens.add(name);
            if let Some(survey) = self.knowledge.survey_mut() {
                survey.add_token(id, SurveyedToken::default());
            }
            id
        };
        self.withhold(now, id);
        id
    }

    /// Adds to the survey a token that this server kept.
    pub(super) fn retain_for_survey(&mut self, now: Instant, id: u32) {
        if self
            .knowledge
            .survey()
            .is_none_or(|survey| survey.has_token(id))
        {
            return;
        }
        let surveyed = SurveyedToken::with_kept_data(self.knowledge.take_from_leaving(id));
        if let Some(survey) = self.knowledge.survey_mut() {
            survey.add_token(id, surveyed);
        }
        // The clients will claim the token again, so its present holders do not count.
        self.tokens.release_all(now, id);
        self.withhold(now, id);
    }

    /// Records a token that another server handed over.
    pub(super) fn add_transferred_token(
        &mut self,
        now: Instant,
        Entry { name, data }: Entry<'_>,
        held: Option<Vec<i32>>,
    ) {
        let bytes = name.len() + data.len() + TOKEN_BYTES + SURVEYED_TOKEN_BYTES;
        if self.is_surveyed(name) && self.free_memory_in_survey(bytes) {
            let id = self.survey_token(now, name);
            if let Some(surveyed) = self.surveyed_token_mut(id) {
                surveyed.set_held(held);
            }
            self.offer_data(now, id, Source::Transfer, data);
        }
    }

    /// Replaces a token's data if the source of the new data is better than the source of the present data.
    fn offer_data(&mut self, now: Instant, id: u32, source: Source, data: &[u8]) {
        let differs = self
            .tokens
            .get(id)
            .is_some_and(|token| token.data() != data);
        let Some(surveyed) = self.surveyed_token_mut(id) else {
            return;
        };
        if surveyed.offer(source, differs) && differs {
            self.tokens.change(now, id, |token| token.set_data(data));
        }
    }

    /// Applies the result of a survey to its tokens.
    pub(super) fn apply_survey_result(
        &mut self,
        now: Instant,
        surveyed: BTreeMap<u32, SurveyedToken>,
    ) {
        let mut held: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for (id, surveyed) in surveyed {
            // The parties are sessions with claims. The result of the survey decides which of them hold the token.
            self.tokens.release_all(now, id);
            let ownership = surveyed.ownership();
            let Some(token) = self.tokens.get(id) else {
                continue;
            };
            if ownership.is_some() {
                let settled = self.knowledge.settled_configuration();
                let from = settled.and_then(|c| self.servers.responsible(token.name(), c));
                *held.entry(from).or_default() += 1;
            }
            let is_conflict = ownership
                .as_ref()
                .is_some_and(|ownership| ownership.is_conflict);
            if is_conflict {
                let name = token.name().into();
                self.out.counters.conflicts += 1;
                self.out.report(Event::Conflict { name });
            }
            if surveyed.has_conflicting_data() {
                let name = token.name().into();
                self.out.counters.conflicting_data += 1;
                self.out.report(Event::ConflictingData { name });
            }
            if let Some(ownership) = ownership {
                self.out.counters.reclaimed += 1;
                for session in ownership.holders {
                    self.reclaim(now, id, session, ownership.access);
                }
            }
            self.tokens
                .change(now, id, |token| token.set_withheld(false));
        }
        // There is one event for each former server, because there may be many tokens.
        for (server, held) in held {
            self.out.report(Event::TookOverTokens { server, held });
        }
        self.free_memory_after_survey(now);
    }

    /// Makes a session the holder of a token. The msgnum of the session's GRANT is unknown, so the server uses the
    /// number just below the FLOOR.
    fn reclaim(&mut self, now: Instant, id: u32, session: i32, access: Access) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        // All later messages of the session have numbers above this one.
        let granted = known.floor.saturating_sub(1);
        self.tokens.hold(now, session, id, Some(access));
        self.tokens.change(now, id, |token| {
            token.party_mut(session).0.granted = granted;
        });
    }
}

fn is_legal(entry: &Entry<'_>) -> bool {
    entry.name.len() <= NAME_BYTES_MAX && entry.data.len() <= DATA_BYTES_MAX
}
