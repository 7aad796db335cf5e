//! The leader: take-over, configurations, and the states of other servers (`docs/token-service/protocol/elections.md`
//! E17 to E24, `docs/token-service/protocol/leader.md` L8 to L15).

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::server::group::{
    Leadership, Role, cold_floor, configuration_of, is_unproven, seq_of,
};
use crate::ftn::server::{DropReason, Event};
use crate::ftn::{Configuration, next_number};
use crate::time::{Instant, Now};

impl Server {
    /// Becomes the leader.
    pub(super) fn lead(&mut self, now: Now) {
        let at = now.monotonic;
        let warm = self.is_warm(at);
        let servers = self.servers.len();
        let floor = if warm {
            0
        } else {
            cold_floor(now.wall, servers, self.storage.largest_seen())
        };
        // The floor itself may be used, and the next number is above `seen`.
        let seen = self.storage.largest_seen().max(floor.saturating_sub(1));
        let Some(number) = next_number(seen, self.index, servers) else {
            return self.out.report(Event::NumbersExhausted);
        };
        let mut states = vec![ServerState::Down; servers];
        // If no server is READY in the view, the view comes from a cold leader whose grace was not over. Clients of an
        // earlier run may still return, so the grace begins again.
        let is_ready = |server| self.view.state(server) == ServerState::Ready;
        let doubts = self.is_view_doubtful(seen);
        let is_grace = !warm || doubts || !(0..servers).any(is_ready);
        if warm {
            let known = self.view.configuration();
            let former = known.map(Configuration::leader);
            for (server, state) in states.iter_mut().enumerate() {
                *state = self.view.state(server);
                // The election took place because the former leader was silent.
                if former == Some(server) && server != self.index {
                    *state = ServerState::Down;
                }
            }
            if states[self.index] != self.own_state {
                // The server's own state is newer or older than the view. In both cases, the server surveys again.
                states[self.index] = ServerState::Booting;
            }
            if doubts {
                demote_ready(&mut states);
            }
        } else {
            // A cold leader cannot know which tokens other servers have served since.
            if self.own_state != ServerState::Down || self.tokens.len() > 0 {
                self.forget_tokens();
            }
            self.sessions.clear();
            states[self.index] = ServerState::Booting;
        }
        self.set_own_state(states[self.index]);
        let grace = self.peer_options.grace(&self.options);
        let grace = (is_grace && !grace.is_zero()).then(|| at + grace);
        let client_timeout = self.client_timeout();
        let mut leadership = Leadership::new(at, servers, seq_of(number), grace);
        for (id, session) in self.sessions.iter_mut() {
            // The client sent its messages to the former leader, so it has the full time again.
            session.heard = at;
            // No round of this leader lists the session yet, so no renewal is confirmed.
            session.listed = 0;
            session.due = at + client_timeout;
            leadership.add_session(id, session.due);
        }
        self.set_role(Role::Leader(Box::new(leadership)));
        let configuration = number;
        self.out.report(Event::TookOver {
            configuration,
            warm,
        });
        self.install(at, Configuration::new(number, states));
    }

    /// Installs a configuration of this server and sends its first round.
    fn install(&mut self, now: Instant, configuration: Configuration) {
        let number = configuration.number();
        self.storage.record(number);
        // The round comes before the TRANSFERs of this configuration: a server that does not know the configuration
        // drops these TRANSFERs.
        self.view.install(configuration);
        self.send_round(now, None);
        self.on_configuration(now);
    }

    /// Changes states of servers. Returns `false` if the leader has no authority, or if no larger configuration number
    /// exists.
    pub(super) fn change_states(&mut self, now: Instant, changes: &[(usize, ServerState)]) -> bool {
        if !self.is_in_force(now) {
            return false;
        }
        let Some(configuration) = self.view.configuration() else {
            return false;
        };
        let mut states = configuration.states().to_vec();
        let Some(number) = next_number(self.storage.largest_seen(), self.index, states.len())
        else {
            self.out.report(Event::NumbersExhausted);
            return false;
        };
        let Role::Leader(leadership) = &mut self.role else {
            return false;
        };
        for &(server, state) in changes {
            states[server] = state;
            // HEARTBEATs from before the change must not change the state again.
            leadership.begin_state(server, seq_of(number));
        }
        self.install(now, Configuration::new(number, states));
        true
    }

    /// Takes a configuration number above `number`, because another server knows `number`. If the leader has no
    /// authority, the leader is then in doubt: other servers may have agreed on states that this leader does not know.
    pub(super) fn exceed(&mut self, now: Instant, number: u64) {
        let is_sure = !self.needs_majority() || self.is_in_force(now);
        self.storage.record(number);
        let servers = self.servers.len();
        let Some(next) = next_number(self.storage.largest_seen(), self.index, servers) else {
            return self.out.report(Event::NumbersExhausted);
        };
        let Some(known) = self.view.configuration() else {
            return;
        };
        let mut states = known.states().to_vec();
        if !is_sure {
            demote_ready(&mut states);
        }
        let grace = self.peer_options.grace(&self.options);
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        if !is_sure {
            leadership.restart_measurements(now, seq_of(next), grace);
            for (_, session) in self.sessions.iter_mut() {
                session.heard = now;
            }
        }
        self.install(now, Configuration::new(next, states));
    }

    /// Whether a quorum may have agreed on states that are unknown to this server. The view is doubtful if the server
    /// knows a number above its view's number, or if the view is not proven.
    fn is_view_doubtful(&self, seen: u64) -> bool {
        self.needs_majority() && (seen > self.view.number() || is_unproven(self.view.seq()))
    }

    pub(super) fn on_heartbeat(
        &mut self,
        now: Instant,
        arrived: Instant,
        server: usize,
        seq: i128,
        says: ServerState,
    ) {
        let Some(number) = configuration_of(seq) else {
            return self.drop_from_server(server, DropReason::Malformed);
        };
        let newest = self.view.seq();
        let Role::Leader(leadership) = &mut self.role else {
            return self.drop_from_server(server, DropReason::NotLeader);
        };
        // The sender follows a later configuration, or has a larger number in its state file.
        if seq > newest {
            // Even a number that is too far ahead shows that the sender is alive.
            leadership.record_heard(server, arrived);
            let limited = self.limit_number(server, number);
            if limited < number {
                self.drop_from_server(server, DropReason::Ahead);
            }
            if limited == number || limited > self.view.number() {
                self.exceed(now, limited);
            }
            return;
        }
        if leadership.is_late(server, seq) {
            return self.drop_from_server(server, DropReason::Late);
        }
        leadership.record_heard(server, arrived);
        leadership.acknowledge(server, seq);
        self.report_authority(now);
        self.announce_proven(now);
        // READY and DOWN count only under the present configuration. A server that was READY under an earlier
        // configuration may have become responsible for more tokens, which other servers still hand over. A server that
        // announced its departure under an earlier configuration may have received other tokens since.
        let is_of_now = configuration_of(newest) == Some(number);
        let ready = is_of_now && self.view.state(self.index) == ServerState::Ready;
        let next = match (self.view.state(server), says) {
            (ServerState::Booting | ServerState::Ready, ServerState::Down) if is_of_now => {
                ServerState::Down
            }
            (ServerState::Down, ServerState::Booting) => ServerState::Booting,
            (ServerState::Booting, ServerState::Ready) if ready => ServerState::Ready,
            _ => return self.continue_after_acknowledgement(now),
        };
        self.change_states(now, &[(server, next)]);
        self.continue_after_acknowledgement(now);
    }

    /// Continues work that may have waited for this acknowledgement.
    fn continue_after_acknowledgement(&mut self, now: Instant) {
        self.confirm_renewals(now);
        self.try_end_survey(now);
    }

    /// Handles a leader's timeout.
    pub(super) fn on_leader_due(&mut self, now: Instant) {
        self.report_authority(now);
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        if leadership.end_grace(now) {
            // A survey that is complete may have waited only for the end of the grace.
            self.out.report(Event::GraceEnded);
            self.try_end_survey(now);
        }
        self.give_up_silent_servers(now);
        self.end_silent_sessions(now);
        self.on_early_round_due(now);
        if let Role::Leader(leadership) = &self.role
            && leadership.is_round_due(now)
        {
            self.send_round(now, None);
        }
    }

    fn give_up_silent_servers(&mut self, now: Instant) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let timeout = self.options.server_timeout;
        let silent: Vec<(usize, ServerState)> = self
            .other_servers()
            .filter(|&server| self.view.state(server) != ServerState::Down)
            .filter(|&server| now.since(leadership.last_heard(server)) >= timeout)
            .map(|server| (server, ServerState::Down))
            .collect();
        if !silent.is_empty() {
            // All silent servers change together, because each change takes a new configuration.
            self.change_states(now, &silent);
        }
    }

    fn end_silent_sessions(&mut self, now: Instant) {
        let timeout = self.client_timeout();
        // Without authority another server may already lead and keep these sessions.
        if !self.is_in_force(now) {
            return;
        }
        loop {
            let Role::Leader(leadership) = &mut self.role else {
                return;
            };
            let Some(id) = leadership.take_expired(now) else {
                return;
            };
            let Some(session) = self.sessions.get_mut(id) else {
                continue;
            };
            let end = session.heard + timeout;
            // The leader has heard the session since the entry was made. The entry moves only here, because a move at
            // each message would cost more.
            if end > now {
                session.due = end;
                leadership.watch_session(id, end);
                continue;
            }
            let address = session.address;
            self.out.counters.sessions_expired += 1;
            self.out.report(Event::SessionExpired { id, address });
            self.end_sessions(now, &[id]);
        }
    }

    /// Returns the time of a leader's next action. Work that needs authority counts only while the leader has
    /// authority. Otherwise, such work waits for a HEARTBEAT.
    pub(super) fn leader_due(&self, now: Instant, leadership: &Leadership) -> Instant {
        let mut due = leadership.due();
        let mut consider = |at: Option<Instant>| due = at.map_or(due, |at| due.min(at));
        consider(self.give_up_due(leadership));
        let until = self
            .authority_until(leadership)
            .filter(|until| now < *until);
        if let Some(until) = until {
            consider(Some(until));
            consider(leadership.expiry_due());
            let timeout = self.options.server_timeout;
            let working = self
                .other_servers()
                .filter(|&server| self.view.state(server) != ServerState::Down);
            consider(working.map(|s| leadership.last_heard(s) + timeout).min());
        }
        due
    }
}

/// Makes READY servers BOOTING, because a quorum may have agreed on different states. The servers then ask clients and
/// other servers again.
fn demote_ready(states: &mut [ServerState]) {
    for state in states
        .iter_mut()
        .filter(|state| **state == ServerState::Ready)
    {
        *state = ServerState::Booting;
    }
}
