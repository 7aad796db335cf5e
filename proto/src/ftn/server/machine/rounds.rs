//! Rounds of STATE, and what their acknowledgements are good for: authority, and the confirmation of renewals
//! (`docs/ftn.md`, section 4).

use ring_codec::ftn::{Client, Message, ServerState};

use super::Server;
use crate::ftn::server::group::{Leadership, Role, Urgent, is_proven, is_unproven, seq_of};
use crate::ftn::server::{Event, majority};
use crate::time::{Instant, Now};

impl Server {
    /// Sends a round of STATE: to all, or to those that have not acknowledged `behind`.
    pub(super) fn round(&mut self, now: Instant, behind: Option<i128>) {
        let lease = self.options.server_lease();
        let others: Vec<usize> = self.others().collect();
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
                leadership.plan_round(now + self.options.heartbeat);
                others
            }
            Some(behind) => {
                let is_behind = |server: &usize| leadership.acked(*server) < behind;
                others.into_iter().filter(is_behind).collect()
            }
        };
        self.send_state(&to);
        self.confirm(now);
    }

    /// Until when the leader has authority; `None`: it has none.
    pub(super) fn authority_until(&self, leadership: &Leadership) -> Option<Instant> {
        let others = self.quorum() - 1;
        if others == 0 {
            return Some(Instant::from_nanos(u64::MAX));
        }
        let until = self.others().map(|server| {
            let sent = leadership.acked_sent(server);
            sent.map(|sent| sent + self.lease_with(server))
        });
        let mut until: Vec<Option<Instant>> = until.collect();
        until.sort_unstable();
        until.len().checked_sub(others).and_then(|at| until[at])
    }

    /// When a leader gives up that a majority must follow, and whose present configuration no quorum has acknowledged: ST
    /// after the last round that gave it authority another may lead, and its number need not be larger than that.
    pub(super) fn gives_up_at(&self, leadership: &Leadership) -> Option<Instant> {
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
            None => leadership.since() + 2 * timeout,
        })
    }

    /// Looks for a leader again, as one who knows no more than what a quorum has acknowledged.
    pub(super) fn give_up(&mut self, now: Now) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let lease = self.options.server_lease();
        let since = self.authority_until(leadership);
        let since = since.map_or(leadership.since(), |until| until.before(lease));
        let acknowledged = self.acknowledged_by_quorum(leadership);
        self.view.give_up(acknowledged, since);
        self.elect(now, since, false);
    }

    /// Whether others must follow a leader, and so many that no two leaders can have authority at one time.
    pub(super) fn needs_majority(&self) -> bool {
        let quorum = self.quorum();
        quorum > 1 && quorum >= majority(self.servers.len())
    }

    /// Whether a leader has authority now.
    pub(super) fn has_authority(&self, now: Instant, leadership: &Leadership) -> bool {
        self.authority_until(leadership)
            .is_some_and(|until| now < until)
    }

    /// Whether a quorum knows the present configuration. Until then another leader may be elected that does not, and by
    /// whose word others serve what this configuration takes from them.
    pub(super) fn is_proven(&self) -> bool {
        match &self.role {
            Role::Leader(leadership) => {
                self.acknowledged_by_quorum(leadership) > seq_of(self.view.number())
            }
            // A leader that does not say is taken at its word, as one of Q = 1 is.
            _ => self.quorum() == 1 || !is_unproven(self.view.seq()),
        }
    }

    /// Tells the others at once that a quorum knows the configuration: their surveys wait for that.
    pub(super) fn tell_proven(&mut self, now: Instant) {
        if self.quorum() > 1 && self.is_proven() && !is_proven(self.view.seq()) {
            self.round(now, None);
        }
    }

    /// The newest seq that Q servers have acknowledged.
    fn acknowledged_by_quorum(&self, leadership: &Leadership) -> i128 {
        let mut acked: Vec<i128> = self.others().map(|it| leadership.acked(it)).collect();
        acked.sort_unstable();
        match self.quorum() - 1 {
            0 => i128::MAX,
            others => acked.len().checked_sub(others).map_or(0, |at| acked[at]),
        }
    }

    /// The newest seq that all servers which are not DOWN, and Q in all, have acknowledged.
    fn acknowledged(&self, leadership: &Leadership) -> i128 {
        let quorum = self.acknowledged_by_quorum(leadership);
        let working = self
            .others()
            .filter(|&server| self.view.state(server) != ServerState::Down)
            .map(|server| leadership.acked(server));
        working.fold(quorum, i128::min)
    }

    /// Confirms the renewals that may be, and has a round sent for the others.
    pub(super) fn confirm(&mut self, now: Instant) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        if leadership.renewals().next().is_none() {
            return;
        }
        let acknowledged = self.acknowledged(leadership);
        let may = self.has_authority(now, leadership);
        let waiting = leadership.renewals();
        let ripe: Vec<(i32, i64)> = waiting
            .filter(|(id, _)| {
                let session = self.sessions.get(*id);
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
            leadership.hasten(now);
        }
    }

    /// Tells when authority comes or goes.
    pub(super) fn note_authority(&mut self, now: Instant) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let has = self.has_authority(now, leadership);
        if let Role::Leader(leadership) = &mut self.role
            && leadership.note_authority(has)
        {
            self.out.event(Event::AuthorityChanged { has });
        }
    }

    /// Sends the round for what has changed, if it is due.
    pub(super) fn on_urgent_due(&mut self, now: Instant) {
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        match leadership.take_urgent(now) {
            None => return,
            Some(Urgent::List) => return self.round(now, None),
            Some(Urgent::Renewals) => {}
        }
        let waiting = leadership.renewals();
        let listed = waiting
            .filter_map(|(id, _)| self.sessions.get(id))
            .map(|s| s.listed);
        if let Some(needed) = listed.max() {
            // One that has acknowledged all of it may still be needed for authority.
            let needed = if self.is_in_force(now) {
                needed
            } else {
                i128::MAX
            };
            self.round(now, Some(needed));
        }
    }

    /// Sends the present STATE to other servers.
    pub(super) fn send_state(&mut self, to: &[usize]) {
        let Some(configuration) = self.view.configuration() else {
            return;
        };
        let states: Box<[ServerState]> = configuration.states().into();
        // It is a number of a configuration, which fits.
        let leader = i64::try_from(configuration.number()).unwrap_or(i64::MAX);
        let seq = self.view.seq();
        let addresses: Vec<(i32, String)> = self
            .sessions
            .iter()
            .map(|(id, address)| (id, address.to_string()))
            .collect();
        let clients: Vec<Client<'_>> = addresses
            .iter()
            .map(|(id, address)| Client {
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
