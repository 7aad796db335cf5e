//! The election of a leader (`docs/token-service/protocol/elections.md` E5 to E16).

use std::net::SocketAddr;

use ring_codec::ftn::{Message, ServerState};

use super::Server;
use crate::ftn::server::group::{Election, NO_VOTE, Role, Voter, configuration_of};
use crate::ftn::server::{DropReason, Event, RoleKind};
use crate::time::{Instant, Now};

impl Server {
    /// Starts an election. `silent_since` is the arrival time of the last STATE.
    pub(super) fn start_election(&mut self, now: Now, silent_since: Instant, is_start: bool) {
        let servers = self.servers.len();
        let election = Election::new(now.monotonic, silent_since, is_start, servers);
        self.set_role(Role::Electing(election));
        self.on_election_due(now);
    }

    /// Changes the role and reports it.
    pub(super) fn set_role(&mut self, role: Role) {
        let before = (self.role.kind(), self.leader());
        self.role = role;
        let after = (self.role.kind(), self.leader());
        if before != after {
            let (role, leader) = after;
            self.out.report(Event::RoleChanged { role, leader });
        }
    }

    /// Returns the leader's index, or `None` during an election.
    pub fn leader(&self) -> Option<usize> {
        match &self.role {
            Role::Electing(_) => None,
            Role::Follower(following) => Some(following.leader()),
            Role::Leader(_) => Some(self.index),
        }
    }

    /// Whether the server is warm. A warm server has a view of the group that is at most 3 ST old. Neither this view
    /// nor the server's state shows the server as DOWN.
    pub(super) fn is_warm(&self, now: Instant) -> bool {
        self.view.is_warm(now, self.options.warm_timeout())
            // A DOWN server has lost its tokens, so its view must not win an election.
            && self.own_state != ServerState::Down
            && self.view.state(self.index) != ServerState::Down
    }

    /// Returns the seq for ELECT. A cold server sends 0, so that an outdated view never wins an election.
    fn elect_seq(&self, now: Instant) -> i128 {
        if self.is_warm(now) {
            self.view.elect_seq()
        } else {
            0
        }
    }

    /// Whether the server may vote and acknowledge. If Q > 1, the server does not vote or acknowledge for ST after its
    /// start. Just before the start, the server may have acknowledged a leader that still relies on the
    /// acknowledgement.
    pub(super) fn may_participate(&self, now: Instant) -> bool {
        self.quorum() == 1
            || self
                .started
                .is_some_and(|start| now.since(start) >= self.options.server_timeout)
    }

    /// Sends ELECT if it is due, and votes.
    pub(super) fn on_election_due(&mut self, now: Now) {
        // An ELECT counts for one HB, so a few may be lost.
        let period = self.options.heartbeat / 4;
        let Role::Electing(election) = &mut self.role else {
            return;
        };
        if !election.take_due(now.monotonic, period) {
            return;
        }
        // The server votes first, so that its ELECT carries the new vote.
        self.vote(now);
        let Role::Electing(election) = &self.role else {
            return;
        };
        // A server that has just become the leader sends STATE instead, and does not come here.
        let vote = election.vote();
        let seq = self.elect_seq(now.monotonic);
        for server in self.other_servers() {
            self.send_server(server, Message::Elect { seq, leader: vote });
        }
    }

    /// Votes, and becomes the leader if enough servers vote for it.
    fn vote(&mut self, now: Now) {
        let at = now.monotonic;
        let voter = Voter {
            now: at,
            index: self.index,
            seq: self.elect_seq(at),
            may_participate: self.may_participate(at),
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

    /// Handles ELECT of another server. A leader answers with STATE, and a follower names its leader.
    pub(super) fn on_elect(
        &mut self,
        now: Now,
        arrived: Instant,
        server: usize,
        seq: i128,
        vote: i32,
    ) {
        let Some(configuration) = configuration_of(seq) else {
            return self.drop_from_server(server, DropReason::Malformed);
        };
        let limited = self.limit_number(server, configuration);
        self.storage.record(limited);
        // The number counts up to the limit, so that a server that is far behind catches up.
        if limited < configuration {
            return self.drop_from_server(server, DropReason::Ahead);
        }
        match &mut self.role {
            Role::Electing(election) => {
                election.record_elect(server, seq, vote, arrived);
                // The server votes at once, because the received ELECT may be the last ELECT that it needs.
                self.vote(now);
            }
            Role::Leader(_) => {
                // The sender has not heard this leader, and could elect another leader.
                if self.allow_answer(now.monotonic, server) {
                    self.send_state(&[server]);
                }
            }
            Role::Follower(following) => {
                let leader = following.leader();
                let heard = following.has_heard(now.monotonic, self.options.server_timeout);
                // A follower answers only if it has new information. Otherwise, two followers would answer each other
                // indefinitely.
                let is_news = usize::try_from(vote) != Ok(leader) || seq < self.view.seq();
                if heard && is_news && self.allow_answer(now.monotonic, server) {
                    let seq = self.elect_seq(now.monotonic);
                    // Cannot fail: an index is below 32.
                    let leader = i32::try_from(leader).unwrap_or(NO_VOTE);
                    self.send_server(server, Message::Elect { seq, leader });
                }
            }
        }
    }

    /// Returns whether this server may answer another server at this time. This server answers each other server at
    /// most once per HB / 8. HB / 8 is half the period of ELECT.
    pub(super) fn allow_answer(&mut self, now: Instant, server: usize) -> bool {
        let period = self.options.heartbeat / 8;
        self.answer_limits[server].try_take(now, period)
    }

    /// Returns the indexes of all other servers.
    pub(super) fn other_servers(&self) -> impl Iterator<Item = usize> + use<> {
        let index = self.index;
        (0..self.servers.len()).filter(move |&server| server != index)
    }

    pub(super) fn send_server(&mut self, server: usize, message: Message<'_>) {
        if let (Some(address), Ok(to)) = (self.servers.address(server), i32::try_from(server)) {
            self.out.send(address, to, message);
        }
    }

    pub(super) fn drop_from_server(&mut self, server: usize, reason: DropReason) {
        if let Some(address) = self.servers.address(server) {
            self.drop(address, reason);
        }
    }

    /// Drops the present datagram.
    pub(super) fn drop(&mut self, from: SocketAddr, reason: DropReason) {
        self.out.drop(from, self.present_kind, reason);
    }

    /// Returns the server's role.
    pub fn role(&self) -> RoleKind {
        self.role.kind()
    }
}
