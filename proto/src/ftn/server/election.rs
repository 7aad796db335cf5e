//! Electing a leader (`docs/ftn.md`, section 4).

use std::net::SocketAddr;

use ring_codec::ftn::{Message, ServerState};

use super::role::Role;
use super::view::configuration_of;
use super::{Event, Reason, RoleKind, Server};
use crate::throttle::Throttle;
use crate::time::{Instant, Now};

/// The vote of who votes for nobody.
const NOBODY: i32 = -1;

/// What an electing server knows of the others.
#[derive(Debug, Clone, Hash)]
pub(super) struct Election {
    since: Instant,
    /// Since when no STATE has come.
    silent_since: Instant,
    /// The server has just started: it need not wait for silence if all others are electing too.
    is_start: bool,
    vote: Vote,
    next: Instant,
    /// By index; the own one stays empty.
    entries: Vec<Option<Entry>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Vote {
    Nobody,
    For {
        server: usize,
        since: Instant,
    },
    /// For nobody until then: the last vote has led to nothing.
    Resting {
        until: Instant,
    },
}

/// The last ELECT of another server.
#[derive(Debug, Clone, Copy, Hash)]
struct Entry {
    seq: i128,
    vote: i32,
    at: Instant,
}

impl Entry {
    fn names(&self, server: usize) -> bool {
        usize::try_from(self.vote) == Ok(server)
    }
}

impl Election {
    pub(super) fn new(now: Instant, silent_since: Instant, is_start: bool, servers: usize) -> Self {
        Self {
            since: now,
            silent_since,
            is_start,
            vote: Vote::Nobody,
            next: now,
            entries: vec![None; servers],
        }
    }

    /// When something is to be done.
    pub(super) const fn due(&self) -> Instant {
        self.next
    }

    const fn vote(&self) -> i32 {
        match self.vote {
            // An index is below 32.
            #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            Vote::For { server, .. } => server as i32,
            Vote::Nobody | Vote::Resting { .. } => NOBODY,
        }
    }
}

/// What an electing server does next.
enum Verdict {
    Wait,
    Vote(usize),
    Lead,
}

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
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        match &self.role {
            Role::Electing(_) => None,
            Role::Follower(following) => Some(following.leader),
            Role::Leader(_) => Some(self.index),
        }
    }

    /// Whether what this server knows is worth something: it has a seq, is not DOWN in it nor by its own word,
    /// and has had it for 3 ST at most.
    pub(super) fn is_warm(&self, now: Instant) -> bool {
        self.view.seq > 0
            && self.own != ServerState::Down
            && self.view.state(self.index) != ServerState::Down
            && now.since(self.view.at) <= self.options.warmth()
    }

    /// The seq that ELECT says: 0 if what is known is worth nothing.
    fn elect_seq(&self, now: Instant) -> i128 {
        if self.is_warm(now) {
            self.view.proven.unwrap_or(self.view.seq)
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
        let Role::Electing(election) = &mut self.role else {
            return;
        };
        if election.next > now.monotonic {
            return;
        }
        election.next = now.monotonic + self.options.heartbeat / 4;
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
        self.age_vote(now.monotonic);
        loop {
            match self.verdict(now.monotonic) {
                Verdict::Wait => return,
                Verdict::Lead => return self.lead(now),
                Verdict::Vote(server) => {
                    if let Role::Electing(election) = &mut self.role {
                        let since = now.monotonic;
                        election.vote = Vote::For { server, since };
                    }
                }
            }
        }
    }

    /// A vote is kept for 2 HB, then there is none for HB. It begins anew where all agree: servers that look for a leader at
    /// different times would rest in turns, without end.
    fn age_vote(&mut self, now: Instant) {
        let heartbeat = self.options.heartbeat;
        let agreed = self.agreed(now);
        let Role::Electing(election) = &mut self.role else {
            return;
        };
        match election.vote {
            Vote::For { server, since } if now.since(since) >= 2 * heartbeat => {
                election.vote = if agreed == Some(server) {
                    Vote::For { server, since: now }
                } else {
                    let until = now + heartbeat;
                    Vote::Resting { until }
                };
            }
            Vote::Resting { until } if until <= now => election.vote = Vote::Nobody,
            _ => {}
        }
    }

    /// What was heard of others within HB.
    fn fresh(&self, now: Instant) -> Vec<(usize, Entry)> {
        let Role::Electing(election) = &self.role else {
            return Vec::new();
        };
        (0..)
            .zip(&election.entries)
            .filter_map(|(server, entry)| Some((server, (*entry)?)))
            .filter(|(_, entry)| now.since(entry.at) <= self.options.heartbeat)
            .collect()
    }

    /// The best of those that are heard and this server.
    fn best(&self, now: Instant, fresh: &[(usize, Entry)]) -> usize {
        let mine = (self.elect_seq(now), self.index);
        let known = fresh.iter().map(|(server, entry)| (entry.seq, *server));
        let (_, best) = known.fold(mine, |(seq, best), (other_seq, other)| {
            let is_better = other_seq > seq || other_seq == seq && other < best;
            if is_better {
                (other_seq, other)
            } else {
                (seq, best)
            }
        });
        best
    }

    /// The best server, if nobody that is heard votes for another.
    fn agreed(&self, now: Instant) -> Option<usize> {
        let fresh = self.fresh(now);
        let best = self.best(now, &fresh);
        is_unopposed(&fresh, best).then_some(best)
    }

    fn verdict(&self, now: Instant) -> Verdict {
        let Role::Electing(election) = &self.role else {
            return Verdict::Wait;
        };
        let heartbeat = self.options.heartbeat;
        let fresh = self.fresh(now);
        let unopposed = is_unopposed(&fresh, self.index);
        let silent = now.since(election.silent_since) >= self.options.server_timeout;
        let all_elect = election.is_start && unopposed && fresh.len() + 1 == self.servers.len();
        let waited = now.since(election.since) >= heartbeat;
        if !(waited && (silent || all_elect) && self.may_speak(now)) {
            return Verdict::Wait;
        }
        let best = self.best(now, &fresh);
        match election.vote {
            Vote::Nobody if best != self.index => Verdict::Vote(best),
            Vote::Nobody if unopposed => Verdict::Vote(self.index),
            Vote::For { server, .. } if server == self.index && best == server && unopposed => {
                let votes = fresh.iter().filter(|(_, entry)| entry.names(server));
                if votes.count() + 1 >= self.quorum() {
                    Verdict::Lead
                } else {
                    Verdict::Wait
                }
            }
            _ => Verdict::Wait,
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
        let reach = self.reach(now.monotonic, server, configuration);
        self.storage.see(reach);
        if reach < configuration {
            return self.drop_from_server(server, Reason::Ahead);
        }
        match &mut self.role {
            Role::Electing(election) => {
                let at = arrived;
                election.entries[server] = Some(Entry { seq, vote, at });
                self.consider(now);
            }
            Role::Leader(_) => {
                if self.may_answer(now.monotonic, server) {
                    self.send_state(&[server]);
                }
            }
            Role::Follower(following) => {
                let leader = following.leader;
                let heard = now.monotonic.since(following.heard) < self.options.server_timeout;
                // Two followers would answer each other without end if they answered what they agree on.
                let is_news = usize::try_from(vote) != Ok(leader) || seq < self.view.seq;
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
    #[must_use]
    pub fn role(&self) -> RoleKind {
        self.role.kind()
    }
}

/// Whether all vote for this server or for nobody.
fn is_unopposed(fresh: &[(usize, Entry)], server: usize) -> bool {
    let agrees = |entry: &Entry| entry.vote < 0 || entry.names(server);
    fresh.iter().all(|(_, entry)| agrees(entry))
}

/// When each of the others was last answered.
pub(super) fn unanswered(servers: usize) -> Vec<Throttle> {
    vec![Throttle::default(); servers]
}
