//! Electing a leader (`docs/ftn.md`, section 4).

use std::net::SocketAddr;

use ring_codec::ftn::{Message, ServerState};

use super::Server;
use crate::ftn::server::group::{Election, NOBODY, Role, Voter, configuration_of};
use crate::ftn::server::{Event, Reason, RoleKind};
use crate::time::{Instant, Now};

impl Server {
    /// Looks for a leader. `silent_since`: when the last STATE came.
    pub(super) fn elect(&mut self, now: Now, silent_since: Instant, is_start: bool) {
        let servers = self.servers.len();
        let election = Election::new(now.monotonic, silent_since, is_start, servers);
        self.set_role(Role::Electing(election));
        self.on_election_due(now);
    }

    /// Takes a role and tells of it.
    pub(super) fn set_role(&mut self, role: Role) {
        let before = (self.role.kind(), self.leader());
        self.role = role;
        let after = (self.role.kind(), self.leader());
        if before != after {
            let (role, leader) = after;
            self.out.event(Event::RoleChanged { role, leader });
        }
    }

    /// Who leads; `None` while that is open.
    pub fn leader(&self) -> Option<usize> {
        match &self.role {
            Role::Electing(_) => None,
            Role::Follower(following) => Some(following.leader()),
            Role::Leader(_) => Some(self.index),
        }
    }

    /// Whether what this server knows is worth something: it has a seq, is not DOWN in it nor by its own word,
    /// and has had it for 3 ST at most.
    pub(super) fn is_warm(&self, now: Instant) -> bool {
        self.view.is_warm(now, self.options.warmth())
            && self.own != ServerState::Down
            && self.view.state(self.index) != ServerState::Down
    }

    /// The seq that ELECT says: 0 if what is known is worth nothing.
    fn elect_seq(&self, now: Instant) -> i128 {
        if self.is_warm(now) {
            self.view.elect_seq()
        } else {
            0
        }
    }

    /// With Q > 1 a server that has just started keeps silent for ST: it may have acknowledged another leader
    /// just before, which counts on that.
    pub(super) fn may_speak(&self, now: Instant) -> bool {
        self.quorum() == 1
            || self
                .started
                .is_some_and(|start| now.since(start) >= self.options.server_timeout)
    }

    /// It is time to say ELECT, and to see what follows from that of others.
    pub(super) fn on_election_due(&mut self, now: Now) {
        let period = self.options.heartbeat / 4;
        let Role::Electing(election) = &mut self.role else {
            return;
        };
        if !election.take_due(now.monotonic, period) {
            return;
        }
        self.consider(now);
        let Role::Electing(election) = &self.role else {
            return;
        };
        let vote = election.vote();
        let seq = self.elect_seq(now.monotonic);
        for server in self.others() {
            self.send_server(server, Message::Elect { seq, leader: vote });
        }
    }

    /// Votes, or leads, if it may.
    fn consider(&mut self, now: Now) {
        let at = now.monotonic;
        let voter = Voter {
            now: at,
            index: self.index,
            seq: self.elect_seq(at),
            may_speak: self.may_speak(at),
            quorum: self.quorum(),
            heartbeat: self.options.heartbeat,
            server_timeout: self.options.server_timeout,
        };
        if let Role::Electing(election) = &mut self.role
            && election.decide(&voter)
        {
            self.lead(now);
        }
    }

    /// ELECT from another server: who leads answers with STATE, who follows says whom, who elects notes it.
    pub(super) fn on_elect(
        &mut self,
        now: Now,
        arrived: Instant,
        server: usize,
        seq: i128,
        vote: i32,
    ) {
        let Some(configuration) = configuration_of(seq) else {
            return self.drop_from_server(server, Reason::Malformed);
        };
        let reach = self.reach(server, configuration);
        self.storage.see(reach);
        if reach < configuration {
            return self.drop_from_server(server, Reason::Ahead);
        }
        match &mut self.role {
            Role::Electing(election) => {
                election.note(server, seq, vote, arrived);
                self.consider(now);
            }
            Role::Leader(_) => {
                if self.may_answer(now.monotonic, server) {
                    self.send_state(&[server]);
                }
            }
            Role::Follower(following) => {
                let leader = following.leader();
                let heard = following.has_heard(now.monotonic, self.options.server_timeout);
                // Two followers would answer each other without end if they answered what they agree on.
                let is_news = usize::try_from(vote) != Ok(leader) || seq < self.view.seq();
                if heard && is_news && self.may_answer(now.monotonic, server) {
                    let seq = self.elect_seq(now.monotonic);
                    // An index is below 32.
                    let leader = i32::try_from(leader).unwrap_or(NOBODY);
                    self.send_server(server, Message::Elect { seq, leader });
                }
            }
        }
    }

    /// Whether another server is to be answered: not twice in HB / 8, half of what ELECT takes.
    pub(super) fn may_answer(&mut self, now: Instant, server: usize) -> bool {
        let period = self.options.heartbeat / 8;
        self.answers[server].allow(now, period)
    }

    /// All servers but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let index = self.index;
        (0..self.servers.len()).filter(move |&server| server != index)
    }

    /// Sends a message to another server.
    pub(super) fn send_server(&mut self, server: usize, message: Message<'_>) {
        if let (Some(address), Ok(to)) = (self.servers.address(server), i32::try_from(server)) {
            self.out.send(address, to, message);
        }
    }

    /// Drops a datagram of another server.
    pub(super) fn drop_from_server(&mut self, server: usize, reason: Reason) {
        if let Some(address) = self.servers.address(server) {
            self.drop(address, reason);
        }
    }

    /// Drops the datagram at hand.
    pub(super) fn drop(&mut self, from: SocketAddr, reason: Reason) {
        self.out.drop(from, self.at_hand, reason);
    }

    /// What the server is among the servers.
    pub fn role(&self) -> RoleKind {
        self.role.kind()
    }
}
