//! What clients and servers say of tokens that this server did not know, and what follows
//! (`docs/ftn.md`, section 4, "Result").

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::List;
use ring_codec::ftn::{Access, Token as Entry};

use super::Server;
use crate::ftn::catalog::{Holding, Marker};
use crate::ftn::server::knowledge::{Gained, Part, Source};
use crate::ftn::server::options::{GAINED_BYTES, PART_BYTES, TOKEN_BYTES};
use crate::ftn::server::{Event, Reason};
use crate::ftn::{MAX_DATA, MAX_NAME, WINDOW};
use crate::time::Instant;

impl Server {
    /// CATALOG of a session.
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
                None => return self.drop(from, Reason::Malformed),
            },
            _ => None,
        };
        if marker.is_some() {
            entries.next();
        }
        if !holdings.iter().all(|entry| is_legal(&entry)) {
            return self.drop(from, Reason::TooLong);
        }
        let Some(survey) = self.knowledge.survey() else {
            return self.drop(from, Reason::Late);
        };
        let answers = marker.is_none_or(|marker| marker.configuration == survey.configuration());
        if !answers || !survey.awaits(session) {
            return self.drop(from, Reason::Late);
        }
        let claims = holdings.iter().filter(|entry| !entry.name.is_empty());
        let bytes = claims.map(|it| it.name.len() + it.data.len() + TOKEN_BYTES + GAINED_BYTES);
        if !self.has_room_in_survey(PART_BYTES + bytes.sum::<usize>()) {
            return self.drop(from, Reason::Memory);
        }
        let survey = self.knowledge.survey_mut();
        let Some(survey) = survey else {
            return self.drop(from, Reason::Late);
        };
        let (part, parts) = marker.map_or((0, 1), |marker| (marker.part, marker.parts));
        let Some(answered) = survey.take(session, part, parts) else {
            return self.drop(from, Reason::Late);
        };
        let is_whole = answered.is_whole;
        match answered.part {
            Part::New => {}
            Part::Duplicate => {
                self.out.counters.duplicates += 1;
                return;
            }
            Part::Disagrees => return self.drop(from, Reason::Malformed),
        }
        if let (Some(marker), Some(known)) = (marker, self.sessions.get_mut(session)) {
            known.floor = known.floor.max(marker.floor);
        }
        let mut holding = Holding::Unknown;
        for entry in entries {
            if !entry.name.is_empty() {
                self.claim(now, session, holding, &entry);
            } else if let Some(kind) = Holding::parse(entry.data) {
                holding = kind;
            }
        }
        if is_whole {
            self.try_end_survey(now);
        } else if answered.parts.is_multiple_of(WINDOW) {
            self.send_config(from, session);
        }
    }

    /// A session says that it holds a token.
    fn claim(&mut self, now: Instant, session: i32, holding: Holding, entry: &Entry<'_>) {
        if !self.is_gained(entry.name) {
            return;
        }
        let id = self.gain(now, entry.name);
        self.tokens.relate(session, id);
        let is_new = self
            .tokens
            .change(now, id, |token| token.party_mut(session).1);
        if let Some(gained) = self.gained(id)
            && is_new == Some(true)
        {
            gained.claim(session, holding);
        }
        self.offer_data(now, id, Source::client(holding, session), entry.data);
    }

    /// Whether this server is responsible for a token that it does not know.
    fn is_gained(&self, name: &[u8]) -> bool {
        let configuration = self.view.configuration();
        let responsible = configuration.and_then(|c| self.servers.responsible(name, c));
        responsible == Some(self.index) && !self.knows(name)
    }

    fn gained(&mut self, id: u32) -> Option<&mut Gained> {
        self.knowledge.survey_mut()?.gained_mut(id)
    }

    /// The token of this name among those that the survey is about.
    fn gain(&mut self, now: Instant, name: &[u8]) -> u32 {
        let id = if let Some(id) = self.tokens.find(name) {
            self.retain_for_survey(now, id);
            id
        } else {
            let id = self.tokens.add(name);
            if let Some(survey) = self.knowledge.survey_mut() {
                survey.gain(id, Gained::default());
            }
            id
        };
        self.put_aside(now, id);
        id
    }

    /// The survey is to say who holds a token that is here already.
    pub(super) fn retain_for_survey(&mut self, now: Instant, id: u32) {
        if self.knowledge.survey().is_none_or(|survey| survey.has(id)) {
            return;
        }
        let gained = Gained::retained(self.knowledge.take_left(id));
        if let Some(survey) = self.knowledge.survey_mut() {
            survey.gain(id, gained);
        }
        self.tokens.part_all(now, id);
        self.put_aside(now, id);
    }

    /// What another server had of a token.
    pub(super) fn take_transferred(
        &mut self,
        now: Instant,
        Entry { name, data }: Entry<'_>,
        held: Option<Vec<i32>>,
    ) {
        let bytes = name.len() + data.len() + TOKEN_BYTES + GAINED_BYTES;
        if self.is_gained(name) && self.has_room_in_survey(bytes) {
            let id = self.gain(now, name);
            if let Some(gained) = self.gained(id) {
                gained.set_held(held);
            }
            self.offer_data(now, id, Source::Transfer, data);
        }
    }

    /// Data of a token, which become its own if their source is better than that of what it has.
    fn offer_data(&mut self, now: Instant, id: u32, source: Source, data: &[u8]) {
        let differs = self
            .tokens
            .get(id)
            .is_some_and(|token| token.data() != data);
        let Some(gained) = self.gained(id) else {
            return;
        };
        if gained.offer(source, differs) && differs {
            self.tokens.change(now, id, |token| token.set_data(data));
        }
    }

    /// The survey is over: the tokens that it was about are held as clients said.
    pub(super) fn install_gained(&mut self, now: Instant, gained: BTreeMap<u32, Gained>) {
        let mut held: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for (id, gained) in gained {
            self.tokens.part_all(now, id);
            let verdict = gained.verdict();
            let Some(token) = self.tokens.get(id) else {
                continue;
            };
            if verdict.is_some() {
                let settled = self.knowledge.settled();
                let from = settled.and_then(|c| self.servers.responsible(token.name(), c));
                *held.entry(from).or_default() += 1;
            }
            let is_conflict = verdict.as_ref().is_some_and(|verdict| verdict.is_conflict);
            if is_conflict {
                let name = token.name().into();
                self.out.counters.conflicts += 1;
                self.out.event(Event::Conflict { name });
            }
            if gained.has_conflicting_data() {
                let name = token.name().into();
                self.out.counters.conflicting_data += 1;
                self.out.event(Event::ConflictingData { name });
            }
            if let Some(verdict) = verdict {
                self.out.counters.reclaimed += 1;
                for session in verdict.holders {
                    self.reclaim(now, id, session, verdict.access);
                }
            }
            self.tokens.change(now, id, |token| token.set_aside(false));
        }
        for (server, held) in held {
            self.out.event(Event::TookOverTokens { server, held });
        }
        self.make_room(now);
    }

    /// A session holds a token, by a grant of which only the FLOOR is known.
    fn reclaim(&mut self, now: Instant, id: u32, session: i32, access: Access) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        let granted = known.floor.saturating_sub(1);
        self.tokens.hold(now, session, id, Some(access));
        self.tokens.change(now, id, |token| {
            token.party_mut(session).0.granted = granted;
        });
    }
}

fn is_legal(entry: &Entry<'_>) -> bool {
    entry.name.len() <= MAX_NAME && entry.data.len() <= MAX_DATA
}
