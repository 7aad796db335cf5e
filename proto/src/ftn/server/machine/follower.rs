//! STATE at a follower or an electing server, and the duties of a follower (`docs/token-service/protocol/leader.md`
//! L13, L14 and F1 to F8).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::ftn::{Message, ServerState};

use super::Server;
use crate::ftn::Configuration;
use crate::ftn::server::group::{FollowerState, Role, StateMessage, seq_of};
use crate::ftn::server::{DropReason, Event};
use crate::time::{Instant, Now};

/// A STATE that this server checked and will follow.
#[derive(Debug)]
struct AcceptedState {
    seq: i128,
    configuration: Configuration,
    clients: BTreeMap<i32, SocketAddr>,
    /// Arrival time of the STATE, or of its first part.
    arrived: Instant,
}

impl Server {
    pub(super) fn on_state(
        &mut self,
        now: Now,
        arrived: Instant,
        server: usize,
        state: &StateMessage<'_>,
    ) {
        let Some(number) = state.number(server, self.servers.len()) else {
            return self.drop_from_server(server, DropReason::Malformed);
        };
        let at = now.monotonic;
        let limited = self.limit_number(server, number);
        if limited < number {
            self.storage.record(limited);
            return self.drop_from_server(server, DropReason::Ahead);
        }
        match &self.role {
            Role::Leader(_) => {
                if number < self.view.number() {
                    if self.allow_answer(at, server) {
                        self.send_state(&[server]);
                    }
                    return self.drop_from_server(server, DropReason::Late);
                }
                // A majority follows this leader. The other leader took its number when it last had authority, or never
                // had authority.
                if self.needs_majority() && self.is_in_force(at) {
                    self.exceed(at, number);
                    return self.drop_from_server(server, DropReason::OtherLeader);
                }
            }
            Role::Follower(following) => {
                let is_other = following.leader() != server;
                // The follower's leader still relies on it. So two leaders never have authority at the same time.
                if is_other && following.has_heard(at, self.options.server_timeout) {
                    return self.drop_from_server(server, DropReason::OtherLeader);
                }
            }
            Role::Electing(_) => {}
        }
        if state.seq <= self.view.seq() {
            // This server knows no better leader. The HEARTBEAT of this server makes the sender use a larger seq than
            // this server knows. A leader that has lost its state file can even have the same number again.
            let is_lower = state.seq < self.view.seq() && matches!(self.role, Role::Electing(_));
            if is_lower && self.may_participate(at) && self.allow_answer(at, server) {
                let message = Message::Heartbeat {
                    seq: self.view.seq(),
                    sstate: self.own_state,
                };
                self.send_server(server, message);
            }
            return self.drop_from_server(server, DropReason::Late);
        }
        let seen = self.storage.largest_seen();
        if self.view.seq() == 0 && number < seen {
            // Before its restart this server has led or followed a later configuration.
            if self.may_participate(at) {
                let seq = seq_of(seen);
                let message = Message::Heartbeat {
                    seq,
                    sstate: ServerState::Down,
                };
                self.send_server(server, message);
            }
            return self.drop_from_server(server, DropReason::Late);
        }
        self.storage.record(number);
        let Some(clients) = state.sessions() else {
            return self.drop_from_server(server, DropReason::Malformed);
        };
        let (seq, configuration) = (state.seq, state.configuration(number));
        self.follow(
            now,
            server,
            AcceptedState {
                seq,
                configuration,
                clients,
                arrived,
            },
        );
    }

    /// Takes over the configuration and the sessions of a leader.
    fn follow(&mut self, now: Now, leader: usize, state: AcceptedState) {
        let at = now.monotonic;
        let AcceptedState {
            seq,
            configuration,
            clients,
            arrived,
        } = state;
        let is_new = configuration.number() != self.view.number();
        // This is computed before the view changes, because the handover belongs to the former configuration.
        let has_handed_over = self.has_handed_over();
        let was = self.view.state(self.index);
        let shown = configuration.state(self.index);
        self.view.follow(seq, configuration, arrived);
        let heartbeat = at + self.options.heartbeat;
        let following = FollowerState::new(leader, arrived, heartbeat);
        self.set_role(Role::Follower(following));
        let gone = self.sessions.not_in(&clients);
        for (id, address) in clients {
            let known = self.sessions.get(id);
            if known.is_some_and(|session| session.address == address) {
                continue;
            }
            if known.is_none() {
                // The session may have begun at another leader, and may hold tokens.
                self.survey_session(at, id, address);
            }
            self.sessions.insert(id, address, at);
        }
        // The leader knows of the departure, so the server need not announce it again.
        if shown == ServerState::Down && self.departure.is_some() {
            return self.leave(at, has_handed_over);
        }
        if shown == ServerState::Down {
            // Other servers have served its tokens since, so its data are outdated.
            if was != ServerState::Down && self.own_state != ServerState::Down {
                self.forget_tokens();
            }
            self.set_own_state(ServerState::Booting);
        }
        for &id in &gone {
            self.report_losses(id);
            if let Some(session) = self.sessions.remove(id) {
                self.out.forget(session.address);
            }
        }
        // The new configuration comes first: tokens of ended sessions are then granted with its fencing numbers. In the
        // other order the same number could be given twice.
        if is_new {
            self.on_configuration(at);
        }
        self.end_sessions(at, &gone);
        self.send_heartbeat(at);
        self.try_end_survey(at);
    }

    /// Sends HEARTBEAT to the leader, with the server's state and the seq of its view.
    pub(super) fn send_heartbeat(&mut self, now: Instant) {
        if !self.may_participate(now) {
            return;
        }
        let seq = self.view.seq();
        // The leader then makes other servers responsible, without waiting for silence.
        let sstate = if self.has_handed_over() {
            ServerState::Down
        } else {
            self.own_state
        };
        if let Role::Follower(following) = self.role {
            self.send_server(following.leader(), Message::Heartbeat { seq, sstate });
        }
    }

    /// Handles a follower's timeout.
    pub(super) fn on_follower_due(&mut self, now: Now) {
        let at = now.monotonic;
        let Role::Follower(following) = &mut self.role else {
            return;
        };
        if !following.has_heard(at, self.options.server_timeout) {
            let heard = following.last_heard();
            return self.start_election(now, heard, false);
        }
        if following.take_heartbeat(at, self.options.heartbeat) {
            self.send_heartbeat(at);
        }
    }

    /// Changes the state that the server announces, and reports it.
    pub(super) fn set_own_state(&mut self, state: ServerState) {
        if self.own_state != state {
            self.own_state = state;
            self.out.report(Event::StateChanged { state });
        }
    }

    pub(super) fn forget_tokens(&mut self) {
        let tokens_forgotten = self.tokens.len();
        self.abort_survey();
        self.knowledge.forget();
        self.tokens.clear();
        self.out.counters.resets += 1;
        self.out.counters.tokens_forgotten += tokens_forgotten as u64;
        self.out.report(Event::Reset { tokens_forgotten });
    }
}
