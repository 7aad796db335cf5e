//! What a leader knows and does: take-over, configurations, the states of the others
//! (`docs/ftn.md`, section 4).

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::server::group::{
    Leadership, Role, cold_floor, configuration_of, is_unproven, seq_of,
};
use crate::ftn::server::{Event, Reason};
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
            cold_floor(now.wall, servers, self.storage.seen())
        };
        let seen = self.storage.seen().max(floor.saturating_sub(1));
        let Some(number) = next_number(seen, self.index, servers) else {
            return self.out.event(Event::NumbersExhausted);
        };
        let mut states = vec![ServerState::Down; servers];
        // Where nobody is READY yet the memory is that of a cold leader, whose grace was not over.
        let is_ready = |server| self.view.state(server) == ServerState::Ready;
        let doubts = self.doubts_view(seen);
        let is_grace = !warm || doubts || !(0..servers).any(is_ready);
        if warm {
            let known = self.view.configuration();
            let former = known.map(Configuration::leader);
            for (server, state) in states.iter_mut().enumerate() {
                *state = self.view.state(server);
                if former == Some(server) && server != self.index {
                    *state = ServerState::Down;
                }
            }
            if states[self.index] != self.own {
                // What one of the two does not know yet is begun again.
                states[self.index] = ServerState::Booting;
            }
            if doubts {
                doubt(&mut states);
            }
        } else {
            if self.own != ServerState::Down || self.tokens.len() > 0 {
                self.forget();
            }
            self.sessions.clear();
            states[self.index] = ServerState::Booting;
        }
        self.set_own(states[self.index]);
        let grace = self.announced.grace(&self.options);
        let grace = (is_grace && !grace.is_zero()).then(|| at + grace);
        let client_timeout = self.client_timeout();
        let mut leadership = Leadership::new(at, servers, seq_of(number), grace);
        for (id, session) in self.sessions.iter_mut() {
            session.heard = at;
            session.listed = 0;
            session.due = at + client_timeout;
            leadership.add(id, session.due);
        }
        self.set_role(Role::Leader(Box::new(leadership)));
        let configuration = number;
        self.out.event(Event::TookOver {
            configuration,
            warm,
        });
        self.install(at, Configuration::new(number, states));
    }

    /// Puts a configuration of its own into force and tells all of it.
    fn install(&mut self, now: Instant, configuration: Configuration) {
        let number = configuration.number();
        self.storage.see(number);
        self.view.install(configuration);
        self.round(now, None);
        self.on_configuration(now);
    }

    /// Changes states of servers. `false`: there is no authority for it, or no number left.
    pub(super) fn change(&mut self, now: Instant, changes: &[(usize, ServerState)]) -> bool {
        if !self.is_in_force(now) {
            return false;
        }
        let Some(configuration) = self.view.configuration() else {
            return false;
        };
        let mut states = configuration.states().to_vec();
        let Some(number) = next_number(self.storage.seen(), self.index, states.len()) else {
            self.out.event(Event::NumbersExhausted);
            return false;
        };
        let Role::Leader(leadership) = &mut self.role else {
            return false;
        };
        for &(server, state) in changes {
            states[server] = state;
            leadership.begin_state(server, seq_of(number));
        }
        self.install(now, Configuration::new(number, states));
        true
    }

    /// Somebody knows a configuration with a larger number: that of this leader becomes larger than it. It takes no
    /// authority, which nobody would give to a smaller one.
    pub(super) fn outnumber(&mut self, now: Instant, number: u64) {
        let is_sure = !self.needs_majority() || self.is_in_force(now);
        self.storage.see(number);
        let servers = self.servers.len();
        let Some(next) = next_number(self.storage.seen(), self.index, servers) else {
            return self.out.event(Event::NumbersExhausted);
        };
        let Some(known) = self.view.configuration() else {
            return;
        };
        let mut states = known.states().to_vec();
        if !is_sure {
            doubt(&mut states);
        }
        let grace = self.announced.grace(&self.options);
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        if !is_sure {
            leadership.begin_anew(now, seq_of(next), grace);
            for (_, session) in self.sessions.iter_mut() {
                session.heard = now;
            }
        }
        self.install(now, Configuration::new(next, states));
    }

    /// Whether a quorum may have agreed on other states than this server's view has, of which it has seen no more than a
    /// number: one that is larger, or smaller than that of a view on which no quorum is known to have agreed.
    fn doubts_view(&self, seen: u64) -> bool {
        self.needs_majority() && (seen > self.view.number() || is_unproven(self.view.seq()))
    }

    /// HEARTBEAT of another server.
    pub(super) fn on_heartbeat(
        &mut self,
        now: Instant,
        arrived: Instant,
        server: usize,
        seq: i128,
        says: ServerState,
    ) {
        let Some(number) = configuration_of(seq) else {
            return self.drop_from_server(server, Reason::Malformed);
        };
        let newest = self.view.seq();
        let Role::Leader(leadership) = &mut self.role else {
            return self.drop_from_server(server, Reason::NotLeader);
        };
        if seq > newest {
            leadership.note_heard(server, arrived);
            let reach = self.reach(server, number);
            if reach < number {
                self.drop_from_server(server, Reason::Ahead);
            }
            if reach == number || reach > self.view.number() {
                self.outnumber(now, reach);
            }
            return;
        }
        if leadership.is_late(server, seq) {
            return self.drop_from_server(server, Reason::Late);
        }
        leadership.note_heard(server, arrived);
        leadership.acknowledge(server, seq);
        self.note_authority(now);
        self.tell_proven(now);
        // Under an earlier configuration it may have been responsible for less, and others still hand it the rest over.
        let is_of_now = configuration_of(newest) == Some(number);
        // Who leaves has handed its tokens over under this configuration: under a later one they may be others.
        let ready = is_of_now && self.view.state(self.index) == ServerState::Ready;
        let next = match (self.view.state(server), says) {
            (ServerState::Booting | ServerState::Ready, ServerState::Down) if is_of_now => {
                ServerState::Down
            }
            (ServerState::Down, ServerState::Booting) => ServerState::Booting,
            (ServerState::Booting, ServerState::Ready) if ready => ServerState::Ready,
            _ => return self.after_acknowledgement(now),
        };
        self.change(now, &[(server, next)]);
        self.after_acknowledgement(now);
    }

    /// What may have waited for an acknowledgement.
    fn after_acknowledgement(&mut self, now: Instant) {
        self.confirm(now);
        self.try_end_survey(now);
    }

    /// All that a leader does when time has passed.
    pub(super) fn on_leader_due(&mut self, now: Instant) {
        self.note_authority(now);
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        if leadership.end_grace(now) {
            self.out.event(Event::GraceEnded);
            self.try_end_survey(now);
        }
        self.give_up_silent_servers(now);
        self.end_silent_sessions(now);
        self.on_urgent_due(now);
        if let Role::Leader(leadership) = &self.role
            && leadership.is_round_due(now)
        {
            self.round(now, None);
        }
    }

    fn give_up_silent_servers(&mut self, now: Instant) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let timeout = self.options.server_timeout;
        let silent: Vec<(usize, ServerState)> = self
            .others()
            .filter(|&server| self.view.state(server) != ServerState::Down)
            .filter(|&server| now.since(leadership.heard(server)) >= timeout)
            .map(|server| (server, ServerState::Down))
            .collect();
        if !silent.is_empty() {
            self.change(now, &silent);
        }
    }

    fn end_silent_sessions(&mut self, now: Instant) {
        let timeout = self.client_timeout();
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
            if end > now {
                session.due = end;
                leadership.look_again(id, end);
                continue;
            }
            let address = session.address;
            self.out.counters.sessions_expired += 1;
            self.out.event(Event::SessionExpired { id, address });
            self.end_sessions(now, &[id]);
        }
    }

    /// When a leader has something to do. What it has no authority for waits for the HEARTBEAT that gives it.
    pub(super) fn leader_due(&self, now: Instant, leadership: &Leadership) -> Instant {
        let mut due = leadership.due();
        let mut consider = |at: Option<Instant>| due = at.map_or(due, |at| due.min(at));
        consider(self.gives_up_at(leadership));
        let until = self
            .authority_until(leadership)
            .filter(|until| now < *until);
        if let Some(until) = until {
            consider(Some(until));
            consider(leadership.expiry_due());
            let timeout = self.options.server_timeout;
            let working = self
                .others()
                .filter(|&server| self.view.state(server) != ServerState::Down);
            consider(working.map(|s| leadership.heard(s) + timeout).min());
        }
        due
    }
}

/// A quorum may have agreed on other states, by which others serve what these servers knew: who is READY finds that out anew.
fn doubt(states: &mut [ServerState]) {
    for state in states
        .iter_mut()
        .filter(|state| **state == ServerState::Ready)
    {
        *state = ServerState::Booting;
    }
}
