//! The excuses for broken promises. Only this module excuses broken promises, and only as far as the document allows.

use std::collections::{BTreeMap, BTreeSet};

use ring_codec::ftn::ServerState;
use ring_proto::ftn::server::Options;
use ring_proto::time::nanos;

use super::outcome::Excuse;
use super::schedule::TOKENS;

/// The facts because of which a promise does not hold. Times are simulated.
#[derive(Debug, Default)]
pub(super) struct Exemptions {
    quorum: usize,
    /// The duration of CT on the slowest clock.
    timeout: u64,
    /// The duration of ST on the slowest clock. After a leader gives way, its followers may rely on its messages for
    /// the time ST, and may serve clients during this time.
    settling: u64,
    /// The number of a dead leader; used only with a quorum of one server (Q = 1). A later leader with a lower number
    /// has never met the dead leader.
    unmet_below: u64,
    /// The last time at which a server began to lead although its number was lower than a number in use.
    unmet: Option<u64>,
    /// The servers that run and lead.
    leading: Vec<bool>,
    /// The time at which a second server began to lead; `None` if at most one server leads.
    two_since: Option<u64>,
    /// The last time at which two servers counted as leaders. A leader that was cut off counts, even if the other
    /// leader was already dead.
    two_until: Option<u64>,
    /// For each server that leads in a split: a number that other servers use and that this server does not know. Until
    /// the server knows this number, the server counts as one of two leaders.
    unknown: Vec<Option<u64>>,
    /// The time at which each server last lost its memory.
    memory: Vec<Option<u64>>,
    /// The last time at which at least half of the servers had lost their memory within the CT before this time.
    majority_lost: Option<u64>,
    /// The time of the last lost state file.
    file_lost: Option<u64>,
    /// The largest number that was in use before the loss of the state file. As long as a server uses this number or a
    /// smaller number, messages from before the loss do not count as late.
    used: u64,
    /// The servers that use `used` or a smaller number.
    uses_again: Vec<bool>,
    /// All configurations in force.
    configurations: BTreeSet<u64>,
    /// For each server: the states of all servers in the last configuration that this server knows.
    states: Vec<Vec<ServerState>>,
    known_configuration: Vec<u64>,
    /// For each server: the number of the configuration that marked the server DOWN, as long as the server does not
    /// know this configuration.
    marked: Vec<Option<u64>>,
    /// Whether each leaving server has handed over all its tokens.
    handed_over: Vec<bool>,
    /// The tokens that servers handed over before they left.
    left: Vec<u64>,
    /// The last time at which a leader needed fewer servers for its quorum than other servers needed. A leader with a
    /// smaller quorum did not know all servers yet.
    unaware: Option<u64>,
    /// The tokens that each server knows.
    pub(super) known: Vec<u64>,
    /// For each token: the last time at which a server that knew this token lost its memory or was marked DOWN.
    server_lost: BTreeMap<usize, u64>,
    /// The last time at which a server dropped tokens to save memory.
    dropped: Option<u64>,
}

impl Exemptions {
    pub(super) fn new(servers: usize, quorum: usize, options: &Options) -> Self {
        let at_slowest = |time| nanos(time) + nanos(time) / 8;
        Self {
            quorum,
            timeout: at_slowest(options.client_timeout),
            settling: at_slowest(options.server_timeout),
            leading: vec![false; servers],
            unknown: vec![None; servers],
            memory: vec![None; servers],
            uses_again: vec![false; servers],
            marked: vec![None; servers],
            states: vec![Vec::new(); servers],
            known_configuration: vec![0; servers],
            handed_over: vec![false; servers],
            left: vec![0; servers],
            known: vec![0; servers],
            ..Self::default()
        }
    }

    /// Records whether a server runs and leads.
    pub(super) fn note_leading(&mut self, now: u64, server: usize, leads: bool) {
        self.leading[server] = leads;
        let two = self.leading.iter().filter(|leads| **leads).count() > 1;
        if two {
            self.two_since.get_or_insert(now);
        } else if self.two_since.take().is_some() {
            self.two_until = Some(now);
        }
    }

    /// Records whether a leaving server has handed its tokens over. The data of these tokens must not be lost.
    pub(super) fn note_handed_over(&mut self, server: usize, has: bool) {
        self.handed_over[server] = has;
    }

    /// Records that a server has left.
    pub(super) fn note_left(&mut self, server: usize) {
        self.left[server] = self.known[server];
    }

    /// Records the number of servers that a leader needs.
    pub(super) const fn note_quorum(&mut self, now: u64, quorum: Option<usize>) {
        if let Some(quorum) = quorum
            && quorum < self.quorum
        {
            self.unaware = Some(now);
        }
    }

    /// Records that a server has lost its memory.
    pub(super) fn note_memory_lost(&mut self, now: u64, server: usize) {
        self.note_leader_lost(server);
        self.on_number_known(now, server, u64::MAX);
        self.note_used_again(now, server, false);
        self.marked[server] = None;
        self.memory[server] = Some(now);
        let lately = |lost: &&Option<u64>| lost.is_some_and(|at| at + self.timeout >= now);
        let lost = self.memory.iter().filter(lately).count();
        if 2 * lost >= self.memory.len() {
            self.majority_lost = Some(now);
        }
        self.note_server_lost(now, server);
    }

    /// Records that a server lost its knowledge of its tokens. After this loss, only the clients know the holders of
    /// these tokens.
    pub(super) fn note_server_lost(&mut self, now: u64, server: usize) {
        self.note_tokens_lost(now, self.known[server]);
    }

    fn note_tokens_lost(&mut self, now: u64, tokens: u64) {
        for token in (0..TOKENS).filter(|token| tokens >> token & 1 == 1) {
            self.server_lost.insert(token, now);
        }
    }

    /// Records that a server leads with this number. With Q = 1, the server perhaps never met leaders with larger
    /// numbers. A cold leader has not met those leaders because it was dead. A warm leader has not met those leaders
    /// because it was cut off. The warm leader was marked DOWN, and does not know of this mark. The warm leader counts
    /// as one of two leaders, even if the other leader is dead.
    pub(super) fn note_take_over(&mut self, now: u64, server: usize, number: u64, is_warm: bool) {
        if self.quorum > 1 {
            return;
        }
        let last = self.configurations.last().copied().unwrap_or_default();
        if last >= number {
            self.unmet = Some(now);
        }
        if is_warm && last > self.known_configuration[server] {
            self.unknown[server] = Some(last);
        }
    }

    /// Records the loss of a leader. With Q = 1, another leader may continue with a smaller number than the lost leader
    /// had.
    fn note_leader_lost(&mut self, server: usize) {
        let number = self.known_configuration[server];
        let mut others = (0..self.leading.len()).filter(|other| *other != server);
        let is_unmet = others.any(|at| self.leading[at] && self.known_configuration[at] < number);
        if self.quorum == 1 && self.leading[server] && is_unmet {
            self.unmet_below = self.unmet_below.max(number);
        }
    }

    /// Records that a server knows a number. If a leader was cut off and now learns this number, it no longer counts as
    /// one of two leaders.
    fn on_number_known(&mut self, now: u64, server: usize, number: u64) {
        if self.unknown[server].is_some_and(|unknown| unknown <= number) {
            self.unknown[server] = None;
            self.two_until = Some(now);
        }
    }

    /// Records that a server starts without its state file.
    pub(super) fn note_file_lost(&mut self, now: u64) {
        self.file_lost = Some(now);
        self.used = self.configurations.last().copied().unwrap_or_default();
    }

    /// Records whether a server uses a number from the time before a state file was lost. When the last server stops
    /// using such a number, the excuse for wrong grants ends after a further CT.
    fn note_used_again(&mut self, now: u64, server: usize, uses: bool) {
        if std::mem::replace(&mut self.uses_again[server], uses) && !uses {
            self.file_lost = Some(now);
        }
    }

    /// Records that a server has dropped tokens to save memory.
    pub(super) const fn note_dropped(&mut self, now: u64) {
        self.dropped = Some(now);
    }

    /// Records the configuration that is in force at a server.
    pub(super) fn note_configuration(
        &mut self,
        now: u64,
        at: usize,
        number: u64,
        states: &[ServerState],
    ) {
        let before = std::mem::replace(&mut self.states[at], states.to_vec());
        self.known_configuration[at] = number;
        self.on_number_known(now, at, number);
        self.note_used_again(now, at, self.file_lost.is_some() && number <= self.used);
        if self.marked[at].is_some_and(|marked| marked <= number) {
            self.marked[at] = None;
        }
        if !self.configurations.insert(number) {
            return;
        }
        for (server, state) in states.iter().enumerate() {
            // Only the leader knew that the server leaves, and it died before another server learned this. The other
            // servers keep the handed-over tokens only for a configuration that shows the leaving server DOWN.
            if *state != ServerState::Down {
                self.note_tokens_lost(now, self.left[server]);
            }
            let was = before.get(server).copied().unwrap_or(ServerState::Down);
            if *state == ServerState::Down && was != ServerState::Down {
                if !self.handed_over[server] {
                    self.note_server_lost(now, server);
                }
                if self.known_configuration[server] < number {
                    self.marked[server] = Some(number);
                }
            }
        }
    }

    /// Whether a server that has this token was marked DOWN. The mark counts only while Q servers know the mark and the
    /// marked server does not know it. Updates at the marked server are lost until this server learns of the mark.
    fn is_update_lost(&self, token: usize) -> bool {
        let mut marked = self.marked.iter().zip(&self.known);
        marked.any(|(number, known)| {
            let heard = |number| {
                self.known_configuration
                    .iter()
                    .filter(move |it| **it >= number)
            };
            known >> token & 1 == 1
                && number.is_some_and(|number| heard(number).count() >= self.quorum)
        })
    }

    /// Returns the excuse for a wrong grant. The first of the grants was requested at `since`.
    pub(super) fn grant_excuse(&self, since: u64) -> Option<Excuse> {
        let until = self.two_until.map(|at| at + self.settling);
        let is_unknown = self.unknown.iter().any(Option::is_some);
        let two =
            self.two_since.is_some() || is_unknown || until.is_some_and(|until| until >= since);
        let after = |at: Option<u64>| at.is_some_and(|at| at + self.timeout >= since);
        if self.quorum == 1 && two {
            Some(Excuse::TwoLeaders)
        } else if self.quorum > 1 && after(self.majority_lost) {
            Some(Excuse::MemoryLost)
        } else if after(self.unaware) {
            Some(Excuse::Unaware)
        } else if after(self.file_lost) || self.uses_again.contains(&true) {
            Some(Excuse::StateFileLost)
        } else {
            None
        }
    }

    /// Returns the excuse for a fencing number that is not above the earlier numbers.
    pub(super) fn fence_excuse(&self, fence: u128, since: u64) -> Option<Excuse> {
        let is_below = fence >> 31 < u128::from(self.unmet_below);
        let excuse = self.later_excuse(since);
        excuse.or(is_below.then_some(Excuse::Unmet))
    }

    /// Returns the excuse for the fencing number or update of a grant that was requested at `since`. After a lost state
    /// file, a server may use reserved numbers again at any time. If clients have already answered a survey with such a
    /// number, they do not answer a later survey with the same number.
    fn later_excuse(&self, since: u64) -> Option<Excuse> {
        let lost = self.file_lost.map(|_| Excuse::StateFileLost);
        let unmet = self.unmet.map(|_| Excuse::Unmet);
        let unaware = self.unaware.map(|_| Excuse::Unaware);
        self.grant_excuse(since).or(lost).or(unmet).or(unaware)
    }

    /// Returns the excuse for a token that a server counts as held although no client holds it. A server without its
    /// state file may give its survey a number that clients have already seen. Clients that have already answered a
    /// survey with this number do not answer again.
    pub(super) fn unheld_token_excuse(&self) -> Option<Excuse> {
        self.file_lost.map(|_| Excuse::StateFileLost)
    }

    /// Returns the excuse for a leader that gives way although there is no better leader. If a leader gives way without
    /// a better leader, it read a STATE that was sent before a state file was lost. The number in the STATE is larger
    /// than the leader's number. The sender of the STATE started again with a lower number.
    pub(super) fn leader_loss_excuse(&self) -> Option<Excuse> {
        self.uses_again
            .contains(&true)
            .then_some(Excuse::StateFileLost)
    }

    /// Returns the excuse for a lost update that was begun at `begun`. The client of this update had requested the
    /// token at `asked`. If there are two leaders, neither leader knows the grants of the other leader. One of two
    /// leaders may confirm an update but later drop the update.
    pub(super) fn update_excuse(&self, token: usize, begun: u64, asked: u64) -> Option<Excuse> {
        let lost = self.server_lost.get(&token);
        if lost.is_some_and(|at| *at >= begun) || self.is_update_lost(token) {
            Some(Excuse::ServerLost)
        } else if self.dropped.is_some_and(|at| at >= begun) {
            Some(Excuse::Dropped)
        } else {
            self.later_excuse(asked.min(begun))
        }
    }
}
