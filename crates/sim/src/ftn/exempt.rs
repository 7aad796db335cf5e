//! What the page allows to break, and when: nothing else is excused.

use std::collections::{BTreeMap, BTreeSet};

use ring_codec::ftn::ServerState;
use ring_proto::ftn::server::Options;
use ring_proto::time::nanos;

use super::outcome::Excuse;
use super::plan::TOKENS;

/// What voids promises, by the world's time.
#[derive(Debug, Default)]
pub struct Exempt {
    /// Q.
    quorum: usize,
    /// CT at the slowest clock.
    timeout: u64,
    /// ST at the slowest clock: for so long the followers of a leader that has given way serve by its word.
    settling: u64,
    /// With Q = 1 a leader died whom another, which went on under a lower number, never met: the number of the dead one.
    unmet_below: u64,
    /// When a leader last began below a number that others have used.
    unmet: Option<u64>,
    /// Which servers run and lead.
    leading: Vec<bool>,
    /// Two have led since then.
    two_since: Option<u64>,
    /// When two led last, be it one after the other.
    two_until: Option<u64>,
    /// The number that a leader does not know which leads in a cut, by server: it is one of two until it knows it.
    unknown: Vec<Option<u64>>,
    /// When each server has last lost its memory.
    memory: Vec<Option<u64>>,
    /// When half of the servers had last done so within CT.
    majority_lost: Option<u64>,
    /// When a state file was last lost.
    file_lost: Option<u64>,
    /// The largest number before that: as long as a server uses one up to it, what was said then is not late.
    used: u64,
    /// Which servers do.
    uses_again: Vec<bool>,
    /// The configurations that were in force anywhere.
    configurations: BTreeSet<u64>,
    /// The states of servers in the last configuration of each.
    states: Vec<Vec<ServerState>>,
    /// The number of that.
    known_configuration: Vec<u64>,
    /// The number of the configuration that marked each server DOWN, of which it has not heard.
    marked: Vec<Option<u64>>,
    /// Which servers leave, and others have all their tokens.
    handed_over: Vec<bool>,
    /// The tokens of servers that have left, and handed them over.
    left: Vec<u64>,
    /// When a leader last did with fewer servers than the others need: it has heard of none of them.
    unaware: Option<u64>,
    /// The tokens that each server knows.
    pub known: Vec<u64>,
    /// When a server that knew a token last lost its memory, or was marked DOWN.
    server_lost: BTreeMap<usize, u64>,
    /// When a server had last to drop tokens for want of memory.
    dropped: Option<u64>,
}

impl Exempt {
    pub fn new(servers: usize, quorum: usize, options: &Options) -> Self {
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

    /// A server runs and leads, or does not.
    pub fn note_leading(&mut self, now: u64, server: usize, leads: bool) {
        self.leading[server] = leads;
        let two = self.leading.iter().filter(|leads| **leads).count() > 1;
        if two {
            self.two_since.get_or_insert(now);
        } else if self.two_since.take().is_some() {
            self.two_until = Some(now);
        }
    }

    /// Whether a server leaves and has handed its tokens over: none of their data may be lost.
    pub fn note_handed_over(&mut self, server: usize, has: bool) {
        self.handed_over[server] = has;
    }

    /// A server has left.
    pub fn note_left(&mut self, server: usize) {
        self.left[server] = self.known[server];
    }

    /// A leader needs so many servers.
    pub const fn note_quorum(&mut self, now: u64, quorum: Option<usize>) {
        if let Some(quorum) = quorum
            && quorum < self.quorum
        {
            self.unaware = Some(now);
        }
    }

    /// A server knows no more what it knew.
    pub fn note_memory_lost(&mut self, now: u64, server: usize) {
        self.note_leader_lost(server);
        self.meet(now, server, u64::MAX);
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

    /// What a server knew is served from now on by what clients know.
    pub fn note_server_lost(&mut self, now: u64, server: usize) {
        self.lose(now, self.known[server]);
    }

    fn lose(&mut self, now: u64, tokens: u64) {
        for token in (0..TOKENS).filter(|token| tokens >> token & 1 == 1) {
            self.server_lost.insert(token, now);
        }
    }

    /// A server leads from now on, with this number. With Q = 1 it may not have met those that used larger ones: a cold
    /// one was not there, a warm one was cut off. That one was marked DOWN, has not heard of it, and is as good as one of
    /// two leaders, though the other may be dead.
    pub fn note_take_over(&mut self, now: u64, server: usize, number: u64, is_warm: bool) {
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

    /// A leader is lost. Who leads beside it under a lower number, with Q = 1, will not exceed the one of the dead.
    fn note_leader_lost(&mut self, server: usize) {
        let number = self.known_configuration[server];
        let mut others = (0..self.leading.len()).filter(|other| *other != server);
        let is_unmet = others.any(|at| self.leading[at] && self.known_configuration[at] < number);
        if self.quorum == 1 && self.leading[server] && is_unmet {
            self.unmet_below = self.unmet_below.max(number);
        }
    }

    /// A server knows this number: who leads in a cut and did not is no longer one of two leaders.
    fn meet(&mut self, now: u64, server: usize, number: u64) {
        if self.unknown[server].is_some_and(|unknown| unknown <= number) {
            self.unknown[server] = None;
            self.two_until = Some(now);
        }
    }

    /// A server starts without its state file.
    pub fn note_file_lost(&mut self, now: u64) {
        self.file_lost = Some(now);
        self.used = self.configurations.last().copied().unwrap_or_default();
    }

    /// A server uses a number of before the loss of a state file, or no longer: then the loss is over, but for CT.
    fn note_used_again(&mut self, now: u64, server: usize, uses: bool) {
        if std::mem::replace(&mut self.uses_again[server], uses) && !uses {
            self.file_lost = Some(now);
        }
    }

    /// A server has dropped tokens for want of memory.
    pub const fn note_dropped(&mut self, now: u64) {
        self.dropped = Some(now);
    }

    /// A configuration is in force at a server.
    pub fn note_configuration(&mut self, now: u64, at: usize, number: u64, states: &[ServerState]) {
        let before = std::mem::replace(&mut self.states[at], states.to_vec());
        self.known_configuration[at] = number;
        self.meet(now, at, number);
        self.note_used_again(now, at, self.file_lost.is_some() && number <= self.used);
        if self.marked[at].is_some_and(|marked| marked <= number) {
            self.marked[at] = None;
        }
        if !self.configurations.insert(number) {
            return;
        }
        for (server, state) in states.iter().enumerate() {
            // The leader that had heard of it died before another server did: the tokens that it has handed over are
            // kept for a configuration that shows it DOWN.
            if *state != ServerState::Down {
                self.lose(now, self.left[server]);
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

    /// Whether a server that knows a token was marked DOWN, Q know of that, and it has not heard of it: what it does
    /// until then is lost.
    fn is_served_in_vain(&self, token: usize) -> bool {
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

    /// Why something about grants, the first of which was asked for then, is excused.
    pub fn grants(&self, since: u64) -> Option<Excuse> {
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

    /// Why this fencing number is not above earlier ones, of a grant that was asked for then.
    pub fn fence(&self, fence: u128, since: u64) -> Option<Excuse> {
        let is_below = fence >> 31 < u128::from(self.unmet_below);
        let excuse = self.fences(since);
        excuse.or(is_below.then_some(Excuse::Unmet))
    }

    /// Why fencing numbers and updates of a grant that was asked for then are excused. Numbers that a lost state
    /// file had kept above all others may come again at any time, and clients take a survey for one answered before.
    fn fences(&self, since: u64) -> Option<Excuse> {
        let lost = self.file_lost.map(|_| Excuse::StateFileLost);
        let unmet = self.unmet.map(|_| Excuse::Unmet);
        let unaware = self.unaware.map(|_| Excuse::Unaware);
        self.grants(since).or(lost).or(unmet).or(unaware)
    }

    /// Why a token may be held for nobody: a server that has lost its state file comes back under a number that clients
    /// have seen, and they take its survey for one that they have answered.
    pub fn held_for_nobody(&self) -> Option<Excuse> {
        self.file_lost.map(|_| Excuse::StateFileLost)
    }

    /// Why a leader gives way for nobody: it has read a STATE of before the loss of a state file, under a number above
    /// its own, since who sent that has begun again below it.
    pub fn leader_left(&self) -> Option<Excuse> {
        self.uses_again
            .contains(&true)
            .then_some(Excuse::StateFileLost)
    }

    /// Why an update of a token that was begun then is lost, by who had asked for the token at `asked`: what one of two
    /// leaders has granted the other does not know, and it confirms the update without heeding it.
    pub fn update(&self, token: usize, begun: u64, asked: u64) -> Option<Excuse> {
        let lost = self.server_lost.get(&token);
        if lost.is_some_and(|at| *at >= begun) || self.is_served_in_vain(token) {
            Some(Excuse::ServerLost)
        } else if self.dropped.is_some_and(|at| at >= begun) {
            Some(Excuse::Dropped)
        } else {
            self.fences(asked.min(begun))
        }
    }
}
