//! A short server written from the rules in `docs/token-service/protocol/`. The server always leads, and sometimes
//! forgets its tokens and starts a survey.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::rig::*;
use crate::ftn::Servers;
use crate::ftn::catalog::HoldKind::{
    self, Exclusive, ReturningExclusive, ReturningShared, Shared, Updated,
};
use crate::ftn::catalog::Marker;
use crate::time::Instant;

pub(super) fn servers() -> Servers {
    Servers::new([("s:1", server())]).unwrap()
}

pub(super) fn server() -> SocketAddr {
    ([192, 0, 2, 1], 1).into()
}

/// State of one token at the server.
#[derive(Default)]
struct ServedToken {
    holders: BTreeMap<i32, (Access, i64)>,
    queue: Vec<(i32, i64, Access)>,
    last_return: BTreeMap<i32, i64>,
    data: Vec<u8>,
}

/// A client's claim to a token: session, kind of hold and data.
type SurveyClaim = (i32, HoldKind, Vec<u8>);

/// The only server. It always leads.
#[derive(Default)]
pub(super) struct TestServer {
    c: i64,
    sessions: BTreeMap<i32, (SocketAddr, Instant)>,
    tokens: BTreeMap<Vec<u8>, ServedToken>,
    floors: BTreeMap<i32, i64>,
    /// Sessions whose answers to the survey are missing.
    awaited: BTreeSet<i32>,
    claims: BTreeMap<Vec<u8>, Vec<SurveyClaim>>,
    pub out: Vec<(SocketAddr, Vec<u8>)>,
    next_id: i32,
}

impl TestServer {
    fn send(&mut self, to: i32, address: SocketAddr, message: Message<'_>) {
        let ssig = servers().signature();
        let header = Header { from: 0, to, ssig };
        self.out.push((address, encode(header, message)));
    }

    fn send_to_session(&mut self, id: i32, message: Message<'_>) {
        if let Some(&(address, _)) = self.sessions.get(&id) {
            self.send(id, address, message);
        }
    }

    fn config(&mut self, to: i32, address: SocketAddr) {
        let leader = self.c;
        let sstates = (&[Ready]).into();
        self.send(to, address, Message::Config { leader, sstates });
    }

    /// Forgets all tokens and starts a survey.
    pub(super) fn forget(&mut self) {
        self.c += 1;
        self.tokens.clear();
        self.claims.clear();
        self.floors.clear();
        self.awaited = self.sessions.keys().copied().collect();
    }

    pub(super) fn receive(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let datagram = Datagram::decode(bytes).unwrap();
        let id = datagram.header().from;
        if let Message::Login { .. } = datagram.message() {
            let known = self.sessions.iter().find(|(_, session)| session.0 == from);
            let id = known.map(|(&id, _)| id);
            let id = id.unwrap_or_else(|| {
                self.next_id += 1;
                (1 << 20) + self.next_id
            });
            self.sessions.insert(id, (from, now));
            self.config(id, from);
            return;
        }
        match self.sessions.get_mut(&id) {
            Some(session) if session.0 == from => session.1 = now,
            _ => return self.config(0, from),
        }
        match datagram.message() {
            Message::Return {
                msgnum,
                token: Token { name: b"", .. },
                ..
            } => self.send_to_session(id, Message::Confirm { msgnum }),
            Message::Catalog { holdings } => {
                self.on_catalog(id, &holdings.iter().collect::<Vec<_>>());
            }
            Message::Request {
                msgnum,
                token,
                access,
            } if self.awaited.is_empty() => self.on_request(id, msgnum, token.name, access),
            Message::Return {
                msgnum,
                token,
                flags,
            } if self.awaited.is_empty() => self.on_return(id, msgnum, token, flags),
            _ => {}
        }
    }

    fn on_catalog(&mut self, id: i32, entries: &[Token<'_>]) {
        let marker = Marker::parse(entries[0].data).unwrap();
        assert_eq!(marker.parts, 1);
        if i64::try_from(marker.configuration) != Ok(self.c) || !self.awaited.remove(&id) {
            return;
        }
        self.floors.insert(id, marker.floor);
        let mut kind = HoldKind::Unknown;
        for Token { name, data } in &entries[1..] {
            if name.is_empty() {
                kind = HoldKind::parse(data).unwrap();
            } else {
                let claims = self.claims.entry(name.to_vec()).or_default();
                claims.push((id, kind, data.to_vec()));
            }
        }
        self.end_survey_if_complete();
    }

    /// If the survey is complete, applies its result.
    fn end_survey_if_complete(&mut self) {
        if !self.awaited.is_empty() {
            return;
        }
        for (name, mut claims) in std::mem::take(&mut self.claims) {
            claims.retain(|claim| self.sessions.contains_key(&claim.0));
            let has = |kinds: &[HoldKind]| claims.iter().any(|claim| kinds.contains(&claim.1));
            let (kinds, access): (&[HoldKind], _) = if has(&[Exclusive]) {
                (&[Exclusive], Access::Exclusive)
            } else if has(&[Shared, Updated]) {
                (&[Shared, Updated, ReturningShared], Access::Shared)
            } else if has(&[ReturningExclusive]) {
                (&[ReturningExclusive], Access::Exclusive)
            } else {
                (&[ReturningShared], Access::Shared)
            };
            let holders: BTreeMap<_, _> = claims
                .iter()
                .filter(|claim| kinds.contains(&claim.1))
                .map(|claim| (claim.0, (access, 0)))
                .collect();
            // If several sessions are returning the token, one RETURN was applied and its CONFIRM was lost.
            let is_one = holders.len() == 1 || kinds != [Exclusive];
            assert!(is_one, "two exclusive claims: {claims:?}");
            let order = [
                Exclusive,
                ReturningExclusive,
                Updated,
                ReturningShared,
                Shared,
            ];
            let data = order.iter().find_map(|kind| {
                let claim = claims.iter().find(|claim| claim.1 == *kind)?;
                Some(claim.2.clone())
            });
            let served = ServedToken {
                holders,
                data: data.unwrap_or_default(),
                ..ServedToken::default()
            };
            self.tokens.insert(name, served);
        }
    }

    fn is_late(&self, id: i32, m: i64) -> bool {
        self.floors.get(&id).is_some_and(|&floor| m < floor)
    }

    fn on_request(&mut self, id: i32, m: i64, name: &[u8], access: Access) {
        let late = self.is_late(id, m);
        let token = self.tokens.entry(name.to_vec()).or_default();
        if late
            || token
                .last_return
                .get(&id)
                .is_some_and(|&last_return| m <= last_return)
        {
            return;
        }
        if let Some(&(held, grant)) = token.holders.get(&id) {
            if m < grant {
                return;
            }
            let is_at_once = m == grant
                || held == access
                || access == Access::Shared
                || token.holders.len() == 1;
            if is_at_once {
                let access = if m == grant { held } else { access };
                token.holders.insert(id, (access, m));
                token.queue.retain(|&(other, ..)| other != id);
                self.send_grant(id, m, name);
                self.grant_heads();
                return;
            }
        }
        match token.queue.iter_mut().find(|entry| entry.0 == id) {
            Some(entry) if entry.1 >= m => return,
            Some(entry) if entry.2 == access => entry.1 = m,
            _ => {
                token.queue.retain(|&(other, ..)| other != id);
                token.queue.push((id, m, access));
            }
        }
        self.grant_heads();
    }

    fn send_grant(&mut self, id: i32, msgnum: i64, name: &[u8]) {
        let data = self.tokens[name].data.clone();
        let token = Token { name, data: &data };
        self.send_to_session(id, Message::Grant { msgnum, token });
    }

    /// Grants tokens to the heads of their queues.
    fn grant_heads(&mut self) {
        let names: Vec<Vec<u8>> = self.tokens.keys().cloned().collect();
        for name in names {
            while let Some(token) = self.tokens.get_mut(&name) {
                let Some(&(id, m, access)) = token.queue.first() else {
                    break;
                };
                let mut others = token.holders.iter().filter(|(other, _)| **other != id);
                let fits = others
                    .all(|(_, &(held, _))| held == Access::Shared && access == Access::Shared);
                if !fits {
                    break;
                }
                token.queue.remove(0);
                token.holders.insert(id, (access, m));
                self.send_grant(id, m, &name);
            }
        }
    }

    fn on_return(&mut self, id: i32, m: i64, token: Token<'_>, flags: Flags) {
        if self.is_late(id, m) {
            return;
        }
        let served = self.tokens.entry(token.name.to_vec()).or_default();
        let last_return = served.last_return.entry(id).or_default();
        let is_new = *last_return < m;
        *last_return = m.max(*last_return);
        let grant = served.holders.get(&id).map(|held| held.1);
        if is_new && grant.is_some_and(|grant| grant < m) {
            if flags != Flags::Deassign {
                served.data = token.data.to_vec();
            }
            if flags != Flags::Update {
                served.holders.remove(&id);
            }
        }
        if flags != Flags::Update {
            served.queue.retain(|entry| entry.0 != id || entry.1 >= m);
        }
        self.send_to_session(id, Message::Confirm { msgnum: m });
        self.grant_heads();
    }

    /// Ends silent sessions, and repeats REVOKEs and questions. Called every 100 ms.
    pub(super) fn tick(&mut self, now: Instant) {
        let silent = |last: Instant| now.since(last) >= CT;
        let ended: Vec<i32> = self
            .sessions
            .iter()
            .filter(|(_, session)| silent(session.1))
            .map(|(&id, _)| id)
            .collect();
        for id in ended {
            self.sessions.remove(&id);
            for token in self.tokens.values_mut() {
                token.holders.remove(&id);
                token.queue.retain(|entry| entry.0 != id);
            }
            if self.awaited.remove(&id) {
                self.end_survey_if_complete();
            }
        }
        for id in self.awaited.clone() {
            if let Some(&(address, _)) = self.sessions.get(&id) {
                self.config(id, address);
            }
        }
        if self.awaited.is_empty() {
            self.grant_heads();
            self.send_revokes();
        }
    }

    fn send_revokes(&mut self) {
        let mut revokes = Vec::new();
        for (name, token) in &self.tokens {
            if let Some(&(head, ..)) = token.queue.first() {
                let others = token.holders.keys().filter(|id| **id != head);
                revokes.extend(others.map(|&id| (id, name.clone())));
            }
        }
        for (id, name) in revokes {
            self.send_to_session(id, Message::Revoke { name: &name });
        }
    }
}
