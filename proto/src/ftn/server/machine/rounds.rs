//! Rounds of STATE, and the effects of their acknowledgements: authority, and confirmed renewals
//! (`docs/token-service/protocol/leader.md` L1 to L10).

use ring_codec::ftn::{ListedSession, Message, ServerState};

use super::Server;
use crate::ftn::server::group::{EarlyRound, Leadership, Role, is_proven, is_unproven, seq_of};
use crate::ftn::server::{Event, majority};
use crate::time::{Instant, Now};

impl Server {
    /// Sends a round of STATE. If `behind` is `None`, sends the round to all servers. If `behind` is given, sends the
    /// round to the servers that did not acknowledge the seq `behind`.
    pub(super) fn send_round(&mut self, now: Instant, behind: Option<i128>) {
        let lease = self.options.server_lease();
        let others: Vec<usize> = self.other_servers().collect();
        // With Q = 1 every configuration counts as proven, so the round does not announce it.
        let is_proven = (self.quorum() > 1).then(|| self.is_proven());
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        let seq = self.view.begin_round(now, is_proven);
        for id in leadership.begin_round(seq, now, lease) {
            if let Some(session) = self.sessions.get_mut(id) {
                session.listed = seq;
            }
        }
        let to = match behind {
            None => {
                leadership.schedule_round(now + self.options.heartbeat);
                others
            }
            Some(behind) => {
                // Servers that have acknowledged need no repetition, so a lost HEARTBEAT costs few datagrams.
                let is_behind = |server: &usize| leadership.acknowledged_seq(*server) < behind;
                others.into_iter().filter(is_behind).collect()
            }
        };
        self.send_state(&to);
        // With only one server no acknowledgement follows, so renewals are confirmed right after the round.
        self.confirm_renewals(now);
    }

    /// Returns the end of the leader's authority, or `None` if the leader has no authority.
    pub(super) fn authority_until(&self, leadership: &Leadership) -> Option<Instant> {
        let others = self.quorum() - 1;
        if others == 0 {
            return Some(Instant::from_nanos(u64::MAX));
        }
        let until = self.other_servers().map(|server| {
            let sent = leadership.acknowledged_sent_at(server);
            sent.map(|sent| sent + self.lease_with(server))
        });
        let mut until: Vec<Option<Instant>> = until.collect();
        // `None` sorts first, so the last Q - 1 entries are the latest ends.
        until.sort_unstable();
        until.len().checked_sub(others).and_then(|at| until[at])
    }

    /// Returns the time at which the leader gives up, if no quorum acknowledges its present configuration before. When
    /// ST has passed since the last round that gave authority, a different server may lead. The configuration number of
    /// that other leader need not be larger. A leader never gives up if its quorum is no majority.
    pub(super) fn give_up_due(&self, leadership: &Leadership) -> Option<Instant> {
        if !self.needs_majority() {
            return None;
        }
        if self.acknowledged_by_quorum(leadership) > seq_of(self.view.number()) {
            return None;
        }
        let timeout = self.options.server_timeout;
        let until = self.authority_until(leadership);
        Some(match until {
            Some(until) => {
                (until.before(self.options.server_lease()) + timeout).max(leadership.since())
            }
            // A new leader has more time, because its followers must hear it first.
            None => leadership.since() + 2 * timeout,
        })
    }

    /// Gives up the lead. In the next election, this server uses only the seq that a quorum acknowledged.
    pub(super) fn give_up(&mut self, now: Now) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let lease = self.options.server_lease();
        let since = self.authority_until(leadership);
        let since = since.map_or(leadership.since(), |until| until.before(lease));
        let acknowledged = self.acknowledged_by_quorum(leadership);
        self.view.give_up(acknowledged, since);
        self.start_election(now, since, false);
    }

    /// Whether the quorum is a majority. Then at most one leader has authority at any time.
    pub(super) fn needs_majority(&self) -> bool {
        let quorum = self.quorum();
        quorum > 1 && quorum >= majority(self.servers.len())
    }

    pub(super) fn has_authority(&self, now: Instant, leadership: &Leadership) -> bool {
        self.authority_until(leadership)
            .is_some_and(|until| now < until)
    }

    /// Whether a quorum knows the present configuration. If no quorum knows the present configuration, a server without
    /// this configuration may become the leader. Servers would then serve tokens that this configuration assigns to
    /// other servers.
    pub(super) fn is_proven(&self) -> bool {
        match &self.role {
            Role::Leader(leadership) => {
                self.acknowledged_by_quorum(leadership) > seq_of(self.view.number())
            }
            // A leader that sets neither bit has Q = 1 or is another implementation. Its configurations count as
            // proven.
            _ => self.quorum() == 1 || !is_unproven(self.view.seq()),
        }
    }

    /// When a quorum knows the configuration, sends a round at once, because surveys of other servers wait for this
    /// round.
    pub(super) fn announce_proven(&mut self, now: Instant) {
        if self.quorum() > 1 && self.is_proven() && !is_proven(self.view.seq()) {
            self.send_round(now, None);
        }
    }

    /// Returns the newest seq that Q servers acknowledged.
    fn acknowledged_by_quorum(&self, leadership: &Leadership) -> i128 {
        let mut acknowledged: Vec<i128> = self
            .other_servers()
            .map(|it| leadership.acknowledged_seq(it))
            .collect();
        acknowledged.sort_unstable();
        match self.quorum() - 1 {
            0 => i128::MAX,
            others => acknowledged
                .len()
                .checked_sub(others)
                .map_or(0, |at| acknowledged[at]),
        }
    }

    /// Returns the newest seq that all servers acknowledged, except those that are DOWN. At least Q servers must have
    /// acknowledged the seq.
    fn acknowledged_by_all(&self, leadership: &Leadership) -> i128 {
        let quorum = self.acknowledged_by_quorum(leadership);
        let working = self
            .other_servers()
            // A DOWN server serves no tokens, so it need not know the session.
            .filter(|&server| self.view.state(server) != ServerState::Down)
            .map(|server| leadership.acknowledged_seq(server));
        working.fold(quorum, i128::min)
    }

    /// Confirms all renewals that may be confirmed now, and makes a round due for the other renewals.
    pub(super) fn confirm_renewals(&mut self, now: Instant) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        if leadership.renewals().next().is_none() {
            return;
        }
        let acknowledged = self.acknowledged_by_all(leadership);
        let may = self.has_authority(now, leadership);
        let waiting = leadership.renewals();
        let ripe: Vec<(i32, i64)> = waiting
            .filter(|(id, _)| {
                let session = self.sessions.get(*id);
                // A server that does not know the session could grant its tokens to others.
                may && session.is_some_and(|s| s.listed > 0 && s.listed <= acknowledged)
            })
            .collect();
        for (id, msgnum) in ripe {
            self.send_confirm(id, msgnum);
            if let Role::Leader(leadership) = &mut self.role {
                leadership.on_confirmed(id);
            }
        }
        if let Role::Leader(leadership) = &mut self.role
            && leadership.renewals().next().is_some()
        {
            leadership.schedule_early_round(now);
        }
    }

    /// Reports when authority begins or ends.
    pub(super) fn report_authority(&mut self, now: Instant) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let has = self.has_authority(now, leadership);
        if let Role::Leader(leadership) = &mut self.role
            && leadership.set_authority(has)
        {
            self.out.report(Event::AuthorityChanged { is_held: has });
        }
    }

    /// If the round for a change is due, sends it.
    pub(super) fn on_early_round_due(&mut self, now: Instant) {
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        match leadership.take_early_round(now) {
            None => return,
            Some(EarlyRound::List) => return self.send_round(now, None),
            Some(EarlyRound::Renewals) => {}
        }
        let waiting = leadership.renewals();
        let listed = waiting
            .filter_map(|(id, _)| self.sessions.get(id))
            .map(|s| s.listed);
        if let Some(needed) = listed.max() {
            // Without authority the round goes to all servers. A server that has acknowledged the list must acknowledge
            // again, because the quorum may need its acknowledgement.
            let needed = if self.is_in_force(now) {
                needed
            } else {
                i128::MAX
            };
            self.send_round(now, Some(needed));
        }
    }

    /// Sends the present STATE to servers.
    pub(super) fn send_state(&mut self, to: &[usize]) {
        let Some(configuration) = self.view.configuration() else {
            return;
        };
        let states: Box<[ServerState]> = configuration.states().into();
        // Cannot fail: a configuration number has at most 56 bits.
        let leader = i64::try_from(configuration.number()).unwrap_or(i64::MAX);
        let seq = self.view.seq();
        let addresses: Vec<(i32, String)> = self
            .sessions
            .iter()
            .map(|(id, address)| (id, address.to_string()))
            .collect();
        let clients: Vec<ListedSession<'_>> = addresses
            .iter()
            .map(|(id, address)| ListedSession {
                id: *id,
                address: address.as_bytes(),
            })
            .collect();
        for &server in to {
            let message = Message::State {
                seq,
                leader,
                sstates: states[..].into(),
                clients: clients[..].into(),
            };
            self.send_server(server, message);
        }
    }
}
