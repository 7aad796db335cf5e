//! What a run has come to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ring_codec::ftn::Kind;

use super::settings::FaultKind;
use crate::kernel::violation;

/// What must hold, by its number in section 7 of `docs/ftn.md`, where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// 1: a session that was ended has no power over tokens.
    Sessions,
    /// 2 and 3: no two live clients hold one token, unless all share it.
    Exclusion,
    /// 4: fencing numbers of a token grow with its grants.
    Fencing,
    /// 5: a server that was marked DOWN or restarted serves nothing that it knew before.
    Stale,
    /// Section 4: with a majority as quorum no two leaders have authority at the same time.
    Authority,
    /// Section 5: a client never goes back to an earlier configuration.
    Backwards,
    /// 6: a stranger gets at most one datagram of 26 + n bytes for one.
    Stranger,
    /// 6: no input crashes a program.
    Panic,
    /// 6: memory is bounded.
    Memory,
    /// Section 8: an acknowledged update is lost only as the page says.
    Update,
    /// 7: one leader in time.
    OneLeader,
    /// 7: tokens are served again in time.
    Served,
    /// 8: a request at the head is granted in time.
    Granted,
    /// There is no end to the datagrams.
    Storm,
    /// All datagrams that are sent are valid.
    Valid,
}

impl Rule {
    /// The promise in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Sessions => "promise 1: a session that was ended has power over a token",
            Self::Exclusion => "promise 2: two live clients hold one token and do not share it",
            Self::Fencing => "promise 4: fencing numbers do not grow",
            Self::Stale => "promise 5: a server serves what it knew before it was DOWN",
            Self::Authority => "section 4: two leaders have authority at the same time",
            Self::Backwards => "section 5: a client goes back to an earlier configuration",
            Self::Stranger => "promise 6: a stranger gets more than it may",
            Self::Panic => "promise 6: a program crashes",
            Self::Memory => "promise 6: memory is not bounded",
            Self::Update => "section 8: an acknowledged update is lost without a reason",
            Self::OneLeader => "promise 7: there is not exactly one leader in time",
            Self::Served => "promise 7: tokens are not served in time",
            Self::Granted => "promise 8: a request at the head is not granted in time",
            Self::Storm => "promise 6: there is no end to the datagrams",
            Self::Valid => "a datagram that is not valid is sent",
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
    /// Q = 1, and two servers led while one of the grants was asked for (7.3).
    TwoLeaders,
    /// Half of the servers or more lost their memory within CT (section 7, "Assumed").
    MemoryLost,
    /// A state file was lost (section 7, "Assumed").
    StateFileLost,
    /// The server of the token lost its memory, or was marked DOWN (section 8).
    ServerLost,
    /// The token went for want of memory (section 8).
    Dropped,
    /// Q = 1, and a leader that knew nothing never met the one before it (`docs/ftn.md`).
    Unmet,
    /// A server with a smaller quorum than the others led before it had heard of them.
    Unaware,
}

impl Excuse {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::TwoLeaders,
        Self::MemoryLost,
        Self::StateFileLost,
        Self::ServerLost,
        Self::Dropped,
        Self::Unmet,
        Self::Unaware,
    ];

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::TwoLeaders => "two leaders",
            Self::MemoryLost => "memory of a majority lost",
            Self::StateFileLost => "state file lost",
            Self::ServerLost => "update lost with its server",
            Self::Dropped => "update dropped for want of memory",
            Self::Unmet => "leader that never met the one before",
            Self::Unaware => "leader with a smaller quorum that has heard no other",
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
    /// Datagrams sent, by the place of their type in [`Kind::ALL`].
    pub sent: [u64; Kind::ALL.len()],
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
    /// Sessions that became live.
    pub sessions: u64,
    /// Sessions that were lost.
    pub lost: u64,
    /// Grants that clients took.
    pub grants: u64,
    /// Updates that were confirmed.
    pub updates: u64,
    /// How often a server took the lead, knowing its predecessor's sessions or not.
    pub take_overs: (u64, u64),
    /// Surveys that ended.
    pub surveys: u64,
    /// How often a server had to forget.
    pub resets: u64,
    /// Tokens that were claimed in ways that exclude each other.
    pub conflicts: u64,
    /// Events of the world.
    pub events: u64,
    /// From the end of the faults until one server led and all were READY.
    pub ready_after: Option<Duration>,
    /// From the crash of the leader to the next.
    pub replaced_after: Option<Duration>,
    /// From the crash of the leader until all its tokens were granted anew.
    pub served_after: Option<Duration>,
    /// How long the run took, by the world's time.
    pub time: Duration,
    /// A hash over everything that was sent, and when: equal runs have equal fingerprints.
    pub fingerprint: u64,
}

impl Stats {
    /// How often a kind of fault really happened.
    #[must_use]
    pub const fn met(&self, kind: FaultKind) -> u64 {
        self.met[kind as usize]
    }

    /// Adds what happened in another run; of times that something took the longest counts.
    pub fn add(&mut self, other: &Self) {
        let pairs = self.sent.iter_mut().zip(other.sent);
        for (sum, count) in pairs.chain(self.met.iter_mut().zip(other.met)) {
            *sum += count;
        }
        for (&excuse, count) in &other.excused {
            *self.excused.entry(excuse).or_default() += count;
        }
        self.injected += other.injected;
        self.delivered += other.delivered;
        self.overflowed += other.overflowed;
        self.sessions += other.sessions;
        self.lost += other.lost;
        self.grants += other.grants;
        self.updates += other.updates;
        self.take_overs.0 += other.take_overs.0;
        self.take_overs.1 += other.take_overs.1;
        self.surveys += other.surveys;
        self.resets += other.resets;
        self.conflicts += other.conflicts;
        self.events += other.events;
        self.ready_after = self.ready_after.max(other.ready_after);
        self.replaced_after = self.replaced_after.max(other.replaced_after);
        self.served_after = self.served_after.max(other.served_after);
        self.time += other.time;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }

    /// How often something was excused for this reason.
    #[must_use]
    pub fn excused(&self, excuse: Excuse) -> u64 {
        self.excused.get(&excuse).copied().unwrap_or(0)
    }
}
