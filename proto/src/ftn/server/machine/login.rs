//! Sessions: how they begin, are kept and end (`docs/ftn.md`, section 5).

use std::net::SocketAddr;
use std::str;

use ring_codec::ftn::Message;

use super::Server;
use crate::ftn::MIN_SESSION;
use crate::ftn::server::group::{PENDING_MAX, Role};
use crate::ftn::server::options::session_bytes;
use crate::ftn::server::{Event, Reason, RoleKind};
use crate::time::Instant;

/// Nobody's id.
pub(super) const NO_ONE: i32 = 0;

impl Server {
    /// Sends CONFIG; `to` is a session or 0.
    pub(super) fn send_config(&mut self, at: SocketAddr, to: i32) {
        let Some(configuration) = self.view.configuration() else {
            return;
        };
        let message = Message::Config {
            // A configuration's number fits.
            leader: i64::try_from(configuration.number()).unwrap_or(i64::MAX),
            sstates: configuration.states().into(),
        };
        self.out.send(at, to, message);
    }

    /// Answers what another server is to answer, or what its sender may not ask, with CONFIG. An electing
    /// server has none that is worth anything.
    pub(super) fn redirect(&mut self, at: SocketAddr, reason: Reason) {
        self.drop(at, reason);
        if self.role.kind() != RoleKind::Electing {
            if reason != Reason::NoSession {
                self.out.counters.redirected += 1;
            }
            self.send_config(at, NO_ONE);
        }
    }

    pub(super) fn on_login(&mut self, now: Instant, from: SocketAddr, p: &[u8]) {
        // A translator of addresses may have changed the port, so the answer goes to the source whatever it says. A host
        // would make this server a reflector for an implementation that heeds it.
        let port = str::from_utf8(p).ok().and_then(|p| p.strip_prefix(':'));
        if port.and_then(|port| port.parse::<u16>().ok()).is_none() {
            return self.drop(from, Reason::Login);
        }
        let pending = self.role.leader_mut().map(|leadership| {
            leadership.pending().expire(now);
            leadership.pending().len()
        });
        let pending = pending.unwrap_or_default();
        let is_known = self.sessions.at(from).is_some();
        let is_full = !is_known && !self.has_room_for_session(pending);
        let Role::Leader(leadership) = &mut self.role else {
            if self.role.kind() == RoleKind::Electing {
                return self.drop(from, Reason::NotServing);
            }
            return self.send_config(from, NO_ONE);
        };
        let known = self
            .sessions
            .at(from)
            .or_else(|| leadership.pending().at(from));
        let id = if let Some(id) = known {
            id
        } else {
            if is_full || pending >= PENDING_MAX {
                self.drop(from, Reason::Full);
                return self.send_config(from, NO_ONE);
            }
            loop {
                let id = self.draw.session();
                if self.sessions.get(id).is_none() && !leadership.pending().has(id) {
                    leadership.pending().insert(id, from, now);
                    break id;
                }
            }
        };
        self.send_config(from, id);
    }

    /// Whether a message comes from a session; the second message of a client makes it one. `renews`: the
    /// configuration that it says, if it is a renewal.
    pub(super) fn identify(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: SocketAddr,
        id: i32,
        renews: Option<u64>,
    ) -> bool {
        if let Some(session) = self.sessions.of(id, from) {
            session.heard = session.heard.max(arrived);
            return true;
        }
        let Role::Leader(leadership) = &mut self.role else {
            return false;
        };
        leadership.pending().expire(now);
        if leadership.pending().take(id, from) {
            self.out.counters.sessions_begun += 1;
            self.out.event(Event::SessionBegun { id, address: from });
            self.begin_session(now, id, from);
            return true;
        }
        let is_free = self.sessions.get(id).is_none()
            && self.sessions.at(from).is_none()
            && !leadership.pending().has(id);
        let hears = renews.is_some_and(|number| number <= self.view.number());
        let adopts = leadership.is_in_grace() && hears && id >= MIN_SESSION && is_free;
        if !adopts || !self.has_room_for_session(0) {
            return false;
        }
        self.out.counters.adopted += 1;
        self.out.event(Event::SessionAdopted { id, address: from });
        self.begin_session(now, id, from);
        true
    }

    /// Whether one more session may begin, beside so many that may be about to.
    fn has_room_for_session(&mut self, pending: usize) -> bool {
        self.sessions.len() + pending < self.options.max_clients
            && self.has_room((pending + 1) * session_bytes(self.servers.len()), None)
    }

    fn begin_session(&mut self, now: Instant, id: i32, address: SocketAddr) {
        let expiry = now + self.client_timeout();
        self.sessions.insert(id, address, now);
        if let Some(leadership) = self.role.leader_mut()
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.due = expiry;
            leadership.add(id, expiry);
        }
        if self.servers.len() == 1 {
            self.round(now, None);
        }
        self.survey_also(now, id, address);
    }

    /// A session renews its lease; `configuration` is the one that it knows.
    pub(super) fn on_renewal(
        &mut self,
        now: Instant,
        from: SocketAddr,
        id: i32,
        msgnum: i64,
        configuration: u64,
    ) {
        if self.role.kind() != RoleKind::Leader {
            return self.redirect(from, Reason::NotLeader);
        }
        if configuration > self.view.number() {
            return self.drop(from, Reason::Ahead);
        }
        if let Some(leadership) = self.role.leader_mut() {
            leadership.renew(id, msgnum);
        }
        self.confirm(now);
    }

    pub(super) fn on_logout(&mut self, now: Instant, from: SocketAddr, id: i32) {
        if self.role.kind() != RoleKind::Leader {
            return self.drop(from, Reason::NotLeader);
        }
        if !self.is_in_force(now) {
            return self.drop(from, Reason::NotServing);
        }
        self.out.counters.sessions_logout += 1;
        let address = from;
        self.out.event(Event::SessionLoggedOut { id, address });
        self.end_sessions(now, &[id]);
        self.send_config(from, NO_ONE);
    }

    /// Sessions are no more: their tokens are free, their REQUESTs gone.
    pub(super) fn end_sessions(&mut self, now: Instant, ids: &[i32]) {
        let mut freed = Vec::new();
        for &id in ids {
            self.tell_losses(id);
            if let Some(session) = self.sessions.remove(id) {
                self.out.forget(session.address);
                if let Some(leadership) = self.role.leader_mut() {
                    leadership.remove(id, session.due);
                }
            }
            if let Some(survey) = self.knowledge.survey_mut() {
                survey.remove(id);
            }
            for token in self.tokens.of_session(id) {
                let survey = self.knowledge.survey_mut();
                if let Some(gained) = survey.and_then(|survey| survey.gained_mut(token)) {
                    gained.remove(id);
                }
                self.tokens.part(now, id, token);
                freed.push(token);
            }
        }
        // Only now: who waited may be gone as well.
        for token in freed {
            self.advance(now, token);
        }
        self.try_end_survey(now);
    }
}
