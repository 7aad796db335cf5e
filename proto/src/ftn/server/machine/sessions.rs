//! Sessions: their start, renewal and end (`docs/token-service/protocol/sessions.md` S7 to S18).

use std::net::SocketAddr;
use std::str;

use ring_codec::ftn::Message;

use super::Server;
use crate::ftn::SESSION_ID_MIN;
use crate::ftn::server::group::{PENDING_MAX, Role};
use crate::ftn::server::options::session_bytes;
use crate::ftn::server::{DropReason, Event, RoleKind};
use crate::time::Instant;

/// The field `to` of a CONFIG without a session.
pub(super) const NO_SESSION: i32 = 0;

impl Server {
    /// Sends CONFIG to a session, or to no session if `to` is 0.
    pub(super) fn send_config(&mut self, at: SocketAddr, to: i32) {
        let Some(configuration) = self.view.configuration() else {
            return;
        };
        let message = Message::Config {
            // Cannot fail: a configuration number has at most 56 bits.
            leader: i64::try_from(configuration.number()).unwrap_or(i64::MAX),
            sstates: configuration.states().into(),
        };
        self.out.send(at, to, message);
    }

    /// Drops a message that a different server must answer, or that the sender may not send. Answers the message with
    /// CONFIG. An electing server sends no answer, because its configuration may be outdated.
    pub(super) fn redirect(&mut self, at: SocketAddr, reason: DropReason) {
        self.drop(at, reason);
        if self.role.kind() != RoleKind::Electing {
            if reason != DropReason::NoSession {
                self.out.counters.redirected += 1;
            }
            self.send_config(at, NO_SESSION);
        }
    }

    pub(super) fn on_login(&mut self, now: Instant, from: SocketAddr, p: &[u8]) {
        // The answer goes to the source address, because a router may have translated the port. If `p` named a host, a
        // sender could use another implementation as a reflector.
        let port = str::from_utf8(p).ok().and_then(|p| p.strip_prefix(':'));
        if port.and_then(|port| port.parse::<u16>().ok()).is_none() {
            return self.drop(from, DropReason::Login);
        }
        let pending = self.role.leader_mut().map(|leadership| {
            leadership.pending().expire(now);
            leadership.pending().len()
        });
        let pending = pending.unwrap_or_default();
        let is_known = self.sessions.id_at(from).is_some();
        let is_full = !is_known && !self.free_memory_for_session(pending);
        let Role::Leader(leadership) = &mut self.role else {
            if self.role.kind() == RoleKind::Electing {
                return self.drop(from, DropReason::NotServing);
            }
            return self.send_config(from, NO_SESSION);
        };
        // The last answer may be lost, and a repeated LOGIN must not use up another id.
        let known = self
            .sessions
            .id_at(from)
            .or_else(|| leadership.pending().id_of(from));
        let id = if let Some(id) = known {
            id
        } else {
            if is_full || pending >= PENDING_MAX {
                // A CONFIG without an id from the leader shows the client that the service is full.
                self.drop(from, DropReason::Full);
                return self.send_config(from, NO_SESSION);
            }
            loop {
                let id = self.id_generator.next_id();
                if self.sessions.get(id).is_none() && !leadership.pending().has_id(id) {
                    leadership.pending().insert(id, from, now);
                    break id;
                }
            }
        };
        self.send_config(from, id);
    }

    /// Returns whether a message comes from a session. The second message of a client begins its session. `renews` is
    /// the configuration number that a renewal names.
    pub(super) fn identify(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: SocketAddr,
        id: i32,
        renews: Option<u64>,
    ) -> bool {
        if let Some(session) = self.sessions.get_at(id, from) {
            // The datagram may have arrived before another datagram that was read first.
            session.heard = session.heard.max(arrived);
            return true;
        }
        let Role::Leader(leadership) = &mut self.role else {
            return false;
        };
        leadership.pending().expire(now);
        // The sender has read an answer that was sent to this address, so the address is not forged.
        if leadership.pending().take(id, from) {
            self.out.counters.sessions_begun += 1;
            self.out.report(Event::SessionBegun { id, address: from });
            self.begin_session(now, id, from);
            return true;
        }
        let is_free = self.sessions.get(id).is_none()
            && self.sessions.id_at(from).is_none()
            && !leadership.pending().has_id(id);
        // A client that knows a larger configuration number would ignore this leader.
        let hears = renews.is_some_and(|number| number <= self.view.number());
        let adopts = leadership.is_in_grace() && hears && id >= SESSION_ID_MIN && is_free;
        if !adopts || !self.free_memory_for_session(0) {
            return false;
        }
        self.out.counters.adopted += 1;
        self.out.report(Event::SessionAdopted { id, address: from });
        self.begin_session(now, id, from);
        true
    }

    /// Checks the limit for sessions, and frees memory for one more session. The `pending` ids count as sessions.
    fn free_memory_for_session(&mut self, pending: usize) -> bool {
        self.sessions.len() + pending < self.options.max_clients
            && self.free_memory((pending + 1) * session_bytes(self.servers.len()), None)
    }

    fn begin_session(&mut self, now: Instant, id: i32, address: SocketAddr) {
        let expiry = now + self.client_timeout();
        self.sessions.insert(id, address, now);
        if let Some(leadership) = self.role.leader_mut()
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.due = expiry;
            leadership.add_session(id, expiry);
        }
        // With only one server no acknowledgement leads to the round that lists the session.
        if self.servers.len() == 1 {
            self.send_round(now, None);
        }
        self.survey_session(now, id, address);
    }

    /// Handles the renewal of a session whose client knows the configuration number `configuration`.
    pub(super) fn on_renewal(
        &mut self,
        now: Instant,
        from: SocketAddr,
        id: i32,
        msgnum: i64,
        configuration: u64,
    ) {
        if self.role.kind() != RoleKind::Leader {
            return self.redirect(from, DropReason::NotLeader);
        }
        // A client must not raise the configuration number of a server, so the server does not accept a larger number.
        if configuration > self.view.number() {
            return self.drop(from, DropReason::Ahead);
        }
        if let Some(leadership) = self.role.leader_mut() {
            leadership.add_renewal(id, msgnum);
        }
        self.confirm_renewals(now);
    }

    pub(super) fn on_logout(&mut self, now: Instant, from: SocketAddr, id: i32) {
        // The client would mistake a CONFIG for the leader's confirmation.
        if self.role.kind() != RoleKind::Leader {
            return self.drop(from, DropReason::NotLeader);
        }
        // Another server may already lead, and it would keep the session.
        if !self.is_in_force(now) {
            return self.drop(from, DropReason::NotServing);
        }
        self.out.counters.sessions_logout += 1;
        let address = from;
        self.out.report(Event::SessionLoggedOut { id, address });
        self.end_sessions(now, &[id]);
        self.send_config(from, NO_SESSION);
    }

    /// Ends sessions: frees the tokens of these sessions and removes their REQUESTs.
    pub(super) fn end_sessions(&mut self, now: Instant, ids: &[i32]) {
        let mut freed = Vec::new();
        for &id in ids {
            self.report_losses(id);
            if let Some(session) = self.sessions.remove(id) {
                self.out.forget(session.address);
                if let Some(leadership) = self.role.leader_mut() {
                    leadership.remove_session(id, session.due);
                }
            }
            if let Some(survey) = self.knowledge.survey_mut() {
                survey.remove(id);
            }
            for token in self.tokens.ids_of_session(id) {
                let survey = self.knowledge.survey_mut();
                if let Some(surveyed) = survey.and_then(|survey| survey.token_mut(token)) {
                    surveyed.remove(id);
                }
                self.tokens.release(now, id, token);
                freed.push(token);
            }
        }
        // The queues are advanced only after all sessions are removed, because a waiting session may have ended too.
        for token in freed {
            self.grant_to_waiting(now, token);
        }
        self.try_end_survey(now);
    }
}
