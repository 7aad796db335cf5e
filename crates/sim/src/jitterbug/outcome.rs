//! What a run has come to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::settings::FaultKind;
use crate::kernel::violation;

/// What must hold, by its number in section 11 of `docs/jitterbug.md`, where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Always, 1: a token id has at most one holder, and its passes form one chain.
    Chain,
    /// Always, 2: a node's data never goes back.
    Data,
    /// Always, 3: no entry leaves a list, and no order changes.
    Lists,
    /// Always, 3: a token never arrives with part of its data.
    Torn,
    /// Always, 4: one leader uses the token.
    OneLeader,
    /// Always, 6: a node uses the token while the lease of another one lasts.
    Lease,
    /// Always, 7: a leader that members follow gives way to one that was always alone.
    Company,
    /// Section 1: a node lives by a lease that no node of its ring has.
    Terms,
    /// Section 5: a leader that stood still for too long goes on as one.
    Stall,
    /// Always, 5: at most one frame is sent for one.
    Answers,
    /// Always, 5: memory is bounded.
    Memory,
    /// No input crashes a program.
    Panic,
    /// There is no end to the datagrams.
    Storm,
    /// All datagrams that are sent are valid.
    Valid,
    /// Eventually: one token is left when the faults have ended.
    Settled,
    /// Eventually, 1: a dead leader is replaced.
    Replaced,
    /// Eventually, 2: one token is left after a cut.
    Merged,
    /// Eventually, 2: all lists become equal.
    EqualLists,
    /// Eventually, 3: every node leads again.
    Leads,
}

impl Rule {
    /// The promise in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Chain => "always 1: a token id has two holders",
            Self::Data => "always 2: a node's data goes back",
            Self::Lists => "always 3: an entry leaves a list",
            Self::Torn => "always 3: a token arrives with part of its data",
            Self::OneLeader => "always 4: two leaders use a token on a segment without faults",
            Self::Lease => {
                "always 6: a token is used while the lease of a node that does not run lasts"
            }
            Self::Company => "always 7: a leader with members gives way to one that was alone",
            Self::Terms => "section 1: a node lives by a lease that no node of its ring has",
            Self::Stall => "section 5: a leader that stood still does not notice",
            Self::Answers => "always 5: a datagram is answered with more than one",
            Self::Memory => "always 5: memory is not bounded",
            Self::Panic => "always 5: a program crashes",
            Self::Storm => "always 5: there is no end to the datagrams",
            Self::Valid => "a datagram that is not valid is sent",
            Self::Settled => "eventually: there is not exactly one token in time after the faults",
            Self::Replaced => "eventually 1: a dead leader is not replaced in time",
            Self::Merged => "eventually 2: there is not exactly one token in time after a cut",
            Self::EqualLists => "eventually 2: lists are not equal in time",
            Self::Leads => "eventually 3: a node does not lead again in time",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why something is excused that the page says may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// Two leaders, after loss, a cut or a stall of the network.
    Network,
    /// Two restores drew one id.
    EqualIds,
    /// A stranger gave a token with this id.
    Forged,
    /// A decision was not made: the received data continues.
    Undecided,
    /// A list had no room for a node.
    Full,
    /// Ids began again at the bottom, since a stranger forged one near the top.
    Wrapped,
    /// A live node was skipped for its penalties when the cut healed.
    Skipped,
    /// A node that never answered was taken out of a list.
    Forgotten,
    /// A pass that the cut had held up ended unknown: the stronger token may be lost, and the weaker one was absorbed.
    Lost,
}

impl Excuse {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Network,
        Self::EqualIds,
        Self::Forged,
        Self::Undecided,
        Self::Full,
        Self::Wrapped,
        Self::Skipped,
        Self::Forgotten,
        Self::Lost,
    ];

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Network => "two leaders for the network's faults",
            Self::EqualIds => "id drawn twice",
            Self::Forged => "id forged",
            Self::Undecided => "data went back without a decision",
            Self::Full => "list full",
            Self::Wrapped => "ids began again",
            Self::Skipped => "node skipped for its penalties",
            Self::Forgotten => "node forgotten that never answered",
            Self::Lost => "token lost at the end of a cut",
        }
    }
}

/// Something that must not happen, and did.
pub type Violation = violation::Violation<Rule>;

/// What a run has come to.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// Counts of what happened in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// TR1 and TR2 sent.
    pub sent: [u64; 2],
    /// Datagrams that nobody's process has sent: of strangers, and replays.
    pub injected: u64,
    /// Datagrams that nodes have read.
    pub delivered: u64,
    /// Datagrams that found the socket of a process that does not read full.
    pub overflowed: u64,
    /// How often each fault really happened, by [`FaultKind`] as a number.
    pub met: [u64; FaultKind::ALL.len()],
    /// How often something was excused.
    pub excused: BTreeMap<Excuse, u64>,
    /// Restores that were won.
    pub restores: u64,
    /// Tokens taken, merged and absorbed.
    pub accepted: [u64; 3],
    /// Passes done, failed, unknown and aborted.
    pub passes: [u64; 4],
    /// Stalls that cost a leadership or a restore.
    pub stalls: u64,
    /// Computations and decisions that programs have done, or failed to do.
    pub programs: (u64, u64),
    /// Datagrams and exchanges that were dropped.
    pub dropped: u64,
    /// Events of the world.
    pub events: u64,
    /// From the end of the faults until one token was left for good.
    pub settled_after: Option<Duration>,
    /// From the death of a leader to the next one.
    pub replaced_after: Option<Duration>,
    /// From the end of a cut until one token was left for good.
    pub merged_after: Option<Duration>,
    /// From then until all lists were equal.
    pub equal_after: Option<Duration>,
    /// Until every node had led.
    pub led_after: Option<Duration>,
    /// How long the run took, by the world's time.
    pub time: Duration,
    /// A hash over everything that was sent and told, and when: equal runs have equal fingerprints.
    pub fingerprint: u64,
}

impl Stats {
    /// How often a kind of fault really happened.
    #[must_use]
    pub const fn met(&self, kind: FaultKind) -> u64 {
        self.met[kind as usize]
    }

    /// How often something was excused for this reason.
    #[must_use]
    pub fn excused(&self, excuse: Excuse) -> u64 {
        self.excused.get(&excuse).copied().unwrap_or(0)
    }

    /// Adds what happened in another run; of times that something took the longest counts.
    pub fn add(&mut self, other: &Self) {
        let pairs = self.sent.iter_mut().zip(other.sent);
        let pairs = pairs.chain(self.met.iter_mut().zip(other.met));
        let pairs = pairs.chain(self.accepted.iter_mut().zip(other.accepted));
        for (sum, count) in pairs.chain(self.passes.iter_mut().zip(other.passes)) {
            *sum += count;
        }
        for (&excuse, count) in &other.excused {
            *self.excused.entry(excuse).or_default() += count;
        }
        self.injected += other.injected;
        self.delivered += other.delivered;
        self.overflowed += other.overflowed;
        self.restores += other.restores;
        self.stalls += other.stalls;
        self.programs.0 += other.programs.0;
        self.programs.1 += other.programs.1;
        self.dropped += other.dropped;
        self.events += other.events;
        self.settled_after = self.settled_after.max(other.settled_after);
        self.replaced_after = self.replaced_after.max(other.replaced_after);
        self.merged_after = self.merged_after.max(other.merged_after);
        self.equal_after = self.equal_after.max(other.equal_after);
        self.led_after = self.led_after.max(other.led_after);
        self.time += other.time;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }
}
