//! What a server does with STATE, and as a follower (`docs/ftn.md`, section 4).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::ftn::{Message, ServerState};

use super::Server;
use crate::ftn::Configuration;
use crate::ftn::server::group::{Following, Role, StateMessage, seq_of};
use crate::ftn::server::{Event, Reason};
use crate::time::{Instant, Now};

/// A STATE that is followed.
#[derive(Debug)]
struct Followed {
    seq: i128,
    configuration: Configuration,
    clients: BTreeMap<i32, SocketAddr>,
    /// When it came, or its first part.
    arrived: Instant,
}

impl Server {
    /// STATE of another server.
    pub(super) fn on_state(
        &mut self,
        now: Now,
        arrived: Instant,
        server: usize,
        state: &StateMessage<'_>,
    ) {
        let Some(number) = state.number(server, self.servers.len()) else {
            return self.drop_from_server(server, Reason::Malformed);
        };
        let at = now.monotonic;
        let reach = self.reach(server, number);
        if reach < number {
            self.storage.see(reach);
            return self.drop_from_server(server, Reason::Ahead);
        }
        match &self.role {
            Role::Leader(_) => {
                if number < self.view.number() {
                    if self.may_answer(at, server) {
                        self.send_state(&[server]);
                    }
                    return self.drop_from_server(server, Reason::Late);
                }
                // A majority follows this one: the other took its number when it had authority last, or never had.
                if self.needs_majority() && self.is_in_force(at) {
                    self.outnumber(at, number);
                    return self.drop_from_server(server, Reason::OtherLeader);
                }
            }
            Role::Follower(following) => {
                let is_other = following.leader() != server;
                if is_other && following.has_heard(at, self.options.server_timeout) {
                    return self.drop_from_server(server, Reason::OtherLeader);
                }
            }
            Role::Electing(_) => {}
        }
        if state.seq <= self.view.seq() {
            // Who is electing has no better leader: this one is to become newer than what it knows. One that has lost
            // its state file may have the same number once more.
            let is_lower = state.seq < self.view.seq() && matches!(self.role, Role::Electing(_));
            if is_lower && self.may_speak(at) && self.may_answer(at, server) {
                let message = Message::Heartbeat {
                    seq: self.view.seq(),
                    sstate: self.own,
                };
                self.send_server(server, message);
            }
            return self.drop_from_server(server, Reason::Late);
        }
        let seen = self.storage.seen();
        if self.view.seq() == 0 && number < seen {
            // It has led or followed a later one in a former life.
            if self.may_speak(at) {
                let seq = seq_of(seen);
                let message = Message::Heartbeat {
                    seq,
                    sstate: ServerState::Down,
                };
                self.send_server(server, message);
            }
            return self.drop_from_server(server, Reason::Late);
        }
        self.storage.see(number);
        let Some(clients) = state.sessions() else {
            return self.drop_from_server(server, Reason::Malformed);
        };
        let (seq, configuration) = (state.seq, state.configuration(number));
        self.follow(
            now,
            server,
            Followed {
                seq,
                configuration,
                clients,
                arrived,
            },
        );
    }

    /// Takes over what a leader says.
    fn follow(&mut self, now: Now, leader: usize, state: Followed) {
        let at = now.monotonic;
        let Followed {
            seq,
            configuration,
            clients,
            arrived,
        } = state;
        let is_new = configuration.number() != self.view.number();
        let has_handed_over = self.has_handed_over();
        let was = self.view.state(self.index);
        let shown = configuration.state(self.index);
        self.view.follow(seq, configuration, arrived);
        let heartbeat = at + self.options.heartbeat;
        let following = Following::new(leader, arrived, heartbeat);
        self.set_role(Role::Follower(following));
        let gone = self.sessions.missing_in(&clients);
        for (id, address) in clients {
            let known = self.sessions.get(id);
            if known.is_some_and(|session| session.address == address) {
                continue;
            }
            if known.is_none() {
                self.survey_also(at, id, address);
            }
            self.sessions.insert(id, address, at);
        }
        if shown == ServerState::Down && self.leaving.is_some() {
            return self.depart(at, has_handed_over);
        }
        if shown == ServerState::Down {
            if was != ServerState::Down && self.own != ServerState::Down {
                self.forget();
            }
            self.set_own(ServerState::Booting);
        }
        for &id in &gone {
            self.tell_losses(id);
            if let Some(session) = self.sessions.remove(id) {
                self.out.forget(session.address);
            }
        }
        // What ended sessions held is granted under the new configuration, and counted from its beginning.
        if is_new {
            self.on_configuration(at);
        }
        self.end_sessions(at, &gone);
        self.heartbeat(at);
        self.try_end_survey(at);
    }

    /// Says to the leader what this server is and when it last heard from it.
    pub(super) fn heartbeat(&mut self, now: Instant) {
        if !self.may_speak(now) {
            return;
        }
        let seq = self.view.seq();
        let sstate = if self.has_handed_over() {
            ServerState::Down
        } else {
            self.own
        };
        if let Role::Follower(following) = self.role {
            self.send_server(following.leader(), Message::Heartbeat { seq, sstate });
        }
    }

    /// All that a follower does when time has passed.
    pub(super) fn on_follower_due(&mut self, now: Now) {
        let at = now.monotonic;
        let Role::Follower(following) = &mut self.role else {
            return;
        };
        if !following.has_heard(at, self.options.server_timeout) {
            let heard = following.heard();
            return self.elect(now, heard, false);
        }
        if following.take_heartbeat(at, self.options.heartbeat) {
            self.heartbeat(at);
        }
    }

    /// What the server says to be.
    pub(super) fn set_own(&mut self, state: ServerState) {
        if self.own != state {
            self.own = state;
            self.out.event(Event::StateChanged { state });
        }
    }

    /// Forgets all that it knew of tokens.
    pub(super) fn forget(&mut self) {
        let tokens_forgotten = self.tokens.len();
        self.abort_survey();
        self.knowledge.forget();
        self.tokens.clear();
        self.out.counters.resets += 1;
        self.out.counters.tokens_forgotten += tokens_forgotten as u64;
        self.out.event(Event::Reset { tokens_forgotten });
    }
}
