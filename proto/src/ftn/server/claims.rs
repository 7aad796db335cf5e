//! What clients and servers say of tokens that this server did not know, and what follows
//! (`docs/ftn.md`, section 4, "Result").

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::List;
use ring_codec::ftn::{Access, Token as Entry};

use super::options::{GAINED_BYTES, PART_BYTES, TOKEN_BYTES};
use super::parts::Part;
use super::{Event, Reason, Server};
use crate::ftn::catalog::{Holding, Marker};
use crate::ftn::{MAX_DATA, MAX_NAME, WINDOW};
use crate::time::Instant;

/// What is known of a token that the server did not know.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Gained {
    claims: Vec<Claim>,
    /// Where its data is from; `None`: nobody has said.
    source: Option<Source>,
    conflicting_data: bool,
    /// Who held it at the server that has handed it over; `None`: it does not say all.
    held: Option<Vec<i32>>,
}

/// Who says that it holds a token, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    session: i32,
    holding: Holding,
}

/// Where data is from, the best first: of clients the first in this order, among equals the lowest session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Source {
    Transfer,
    /// The server had it when another took the token over, which has come to nothing, or served it until the leader doubted that it
    /// may.
    Retained,
    Client(u8, i32),
}

/// A claim's rank among those that have data.
const fn rank(holding: Holding) -> u8 {
    match holding {
        Holding::Exclusive => 0,
        Holding::ReturningExclusive => 1,
        Holding::Updated => 2,
        Holding::ReturningShared => 3,
        Holding::Shared => 4,
        Holding::Unknown => 5,
    }
}

/// Who holds a token after a survey.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    access: Access,
    holders: Vec<i32>,
    is_conflict: bool,
}

impl Gained {
    /// Whether a server has said what its data are.
    pub(super) const fn has_data_of_servers(&self) -> bool {
        matches!(self.source, Some(Source::Transfer | Source::Retained))
    }

    /// A session is no more.
    pub(super) fn remove(&mut self, session: i32) {
        self.claims.retain(|claim| claim.session != session);
    }

    /// Who holds it; `None`: nobody does.
    fn verdict(&self) -> Option<Verdict> {
        let those = |kinds: &[Holding]| -> Vec<i32> {
            let claims = self.claims.iter();
            let claims = claims.filter(|claim| kinds.contains(&claim.holding));
            claims.map(|claim| claim.session).collect()
        };
        let exclusive = those(&[Holding::Exclusive]);
        let sharing = those(&[Holding::Shared, Holding::Updated]);
        let unknown = those(&[Holding::Unknown]);
        // Whom the former server does not name has had its RETURN applied there, and waits for the CONFIRM alone.
        let named = |mut sessions: Vec<i32>| {
            sessions.retain(|id| self.held.as_ref().is_none_or(|held| held.contains(id)));
            sessions
        };
        let returning = named(those(&[Holding::ReturningExclusive]));
        let returning_shared = named(those(&[Holding::ReturningShared]));
        let verdict = |access, holders, is_conflict| {
            Some(Verdict {
                access,
                holders,
                is_conflict,
            })
        };
        if !exclusive.is_empty() {
            if exclusive.len() == 1 && sharing.is_empty() && unknown.is_empty() {
                return verdict(Access::Exclusive, exclusive, false);
            }
            let all = [exclusive, sharing, unknown].concat();
            return verdict(Access::Shared, all, true);
        }
        if !sharing.is_empty() || unknown.len() > 1 {
            let all = [sharing, unknown, returning_shared].concat();
            return verdict(Access::Shared, all, false);
        }
        if !unknown.is_empty() {
            return verdict(Access::Exclusive, unknown, false);
        }
        match returning.len() {
            0 if returning_shared.is_empty() => None,
            0 => verdict(Access::Shared, returning_shared, false),
            1 if returning_shared.is_empty() => verdict(Access::Exclusive, returning, false),
            // One has returned it without being told, and another was granted it since.
            _ => verdict(
                Access::Shared,
                [returning, returning_shared].concat(),
                false,
            ),
        }
    }
}

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
        let Some(survey) = &self.knowledge.survey else {
            return self.drop(from, Reason::Late);
        };
        let answers = marker.is_none_or(|marker| marker.configuration == survey.configuration);
        if !answers || !survey.awaited.contains_key(&session) {
            return self.drop(from, Reason::Late);
        }
        let claims = holdings.iter().filter(|entry| !entry.name.is_empty());
        let bytes = claims.map(|it| it.name.len() + it.data.len() + TOKEN_BYTES + GAINED_BYTES);
        if !self.has_room_in_survey(PART_BYTES + bytes.sum::<usize>()) {
            return self.drop(from, Reason::Memory);
        }
        let survey = self.knowledge.survey.as_mut();
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
        let claim = Claim { session, holding };
        if let Some(gained) = self.gained(id)
            && is_new == Some(true)
        {
            gained.claims.push(claim);
        }
        self.offer_data(now, id, Source::Client(rank(holding), session), entry.data);
    }

    /// Whether this server is responsible for a token that it does not know.
    fn is_gained(&self, name: &[u8]) -> bool {
        let configuration = self.view.configuration.as_ref();
        let responsible = configuration.and_then(|c| self.servers.responsible(name, c));
        responsible == Some(self.index) && !self.knows(name)
    }

    fn gained(&mut self, id: u32) -> Option<&mut Gained> {
        self.knowledge.survey.as_mut()?.gained.get_mut(&id)
    }

    /// The token of this name among those that the survey is about.
    fn gain(&mut self, now: Instant, name: &[u8]) -> u32 {
        let id = if let Some(id) = self.tokens.find(name) {
            self.retain_for_survey(now, id);
            id
        } else {
            let id = self.tokens.add(name);
            if let Some(survey) = &mut self.knowledge.survey {
                survey.gained.insert(id, Gained::default());
            }
            id
        };
        self.put_aside(now, id);
        id
    }

    /// The survey is to say who holds a token that is here already.
    pub(super) fn retain_for_survey(&mut self, now: Instant, id: u32) {
        let Some(survey) = &mut self.knowledge.survey else {
            return;
        };
        if survey.gained.contains_key(&id) {
            return;
        }
        let gained = Gained {
            source: Some(Source::Retained),
            held: self.knowledge.left.remove(&id).flatten(),
            ..Gained::default()
        };
        survey.gained.insert(id, gained);
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
                gained.held = held;
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
        let is_clients = |source| matches!(source, Source::Client(..));
        if differs && is_clients(source) && gained.source.is_some_and(is_clients) {
            gained.conflicting_data = true;
        }
        if gained.source.is_none_or(|known| source < known) {
            gained.source = Some(source);
            if differs {
                self.tokens.change(now, id, |token| token.set_data(data));
            }
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
                let settled = self.knowledge.settled.as_ref();
                let from = settled.and_then(|c| self.servers.responsible(token.name(), c));
                *held.entry(from).or_default() += 1;
            }
            let is_conflict = verdict.as_ref().is_some_and(|verdict| verdict.is_conflict);
            if is_conflict {
                let name = token.name().into();
                self.out.counters.conflicts += 1;
                self.out.event(Event::Conflict { name });
            }
            // What a server knows decides; what clients know is of no interest then.
            if gained.conflicting_data && !gained.has_data_of_servers() {
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
            self.tokens.change(now, id, |token| token.is_aside = false);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(claims: &[(i32, Holding)]) -> Option<(Access, Vec<i32>, bool)> {
        let claims = claims.iter();
        let claims = claims.map(|&(session, holding)| Claim { session, holding });
        let gained = Gained {
            claims: claims.collect(),
            ..Gained::default()
        };
        let verdict = gained.verdict()?;
        Some((verdict.access, verdict.holders, verdict.is_conflict))
    }

    #[test]
    fn who_is_returning_holds_what_the_former_server_says() {
        use Holding::{Exclusive, ReturningExclusive, ReturningShared};
        let verdict = |held: &[i32], claims: &[(i32, Holding)]| {
            let claims = claims.iter();
            let claims = claims.map(|&(session, holding)| Claim { session, holding });
            let gained = Gained {
                claims: claims.collect(),
                held: Some(held.to_vec()),
                ..Gained::default()
            };
            let verdict = gained.verdict()?;
            Some((verdict.access, verdict.holders))
        };
        let claims = [(1, ReturningExclusive), (2, ReturningShared)];
        assert_eq!(verdict(&[2], &claims), Some((Access::Shared, vec![2])));
        assert_eq!(verdict(&[1], &claims), Some((Access::Exclusive, vec![1])));
        // Who uses it holds it, named or not.
        let using = [(1, Exclusive), (2, ReturningExclusive)];
        assert_eq!(verdict(&[2], &using), Some((Access::Exclusive, vec![1])));
    }

    #[test]
    fn the_result_follows_the_page_claim_by_claim() {
        use Access::{Exclusive as X, Shared as S};
        use Holding::{Exclusive, ReturningExclusive, ReturningShared, Shared, Unknown, Updated};
        assert_eq!(verdict(&[]), None);
        // Any x: exclusive, rs and rx are dropped.
        let claims = [
            (1, Exclusive),
            (2, ReturningShared),
            (3, ReturningExclusive),
        ];
        assert_eq!(verdict(&claims), Some((X, vec![1], false)));
        // Any of s, u, or two ?: shared among these and rs.
        let claims = [(1, Shared), (2, ReturningShared), (3, ReturningExclusive)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], false)));
        assert_eq!(verdict(&[(1, Updated)]), Some((S, vec![1], false)));
        let claims = [(1, Unknown), (2, Unknown), (3, ReturningShared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2, 3], false)));
        let claims = [(1, Unknown), (2, Shared)];
        assert_eq!(verdict(&claims), Some((S, vec![2, 1], false)));
        // One ?: exclusive.
        assert_eq!(verdict(&[(1, Unknown)]), Some((X, vec![1], false)));
        // Else rx or rs; several of which one is rx: nobody knows whose RETURN was applied.
        assert_eq!(
            verdict(&[(1, ReturningExclusive)]),
            Some((X, vec![1], false))
        );
        let claims = [(1, ReturningExclusive), (2, ReturningShared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], false)));
        let claims = [(1, ReturningShared), (2, ReturningShared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], false)));
        // Two exclusive claims are a conflict: all are kept as shared.
        let claims = [(1, Exclusive), (2, Exclusive)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], true)));
        let claims = [(1, Exclusive), (2, Shared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], true)));
    }
}
