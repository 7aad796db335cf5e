//! What a run has come to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::settings::FaultKind;
use crate::kernel::violation;

/// What must hold, by its place in section 12 of `docs/board.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Always: posts in the order of their ids have sequences that never decrease, none used by two nodes.
    Order,
    /// Always: an acknowledged post is there once, and one that is told not to be written is not there.
    Acknowledged,
    /// Always: the members are one cycle, or there are none.
    Cycle,
    /// Section 6: who is cut off claims nothing from a coordinator that lives.
    Proof,
    /// Section 6: while the coordinator's beat moves no node claims.
    Beat,
    /// Section 7: a database that refuses what writes is not up.
    Written,
    /// Section 9: what a node uses is what it holds.
    Use,
    /// Section 9: a node holds larger and larger sequences.
    Sequence,
    /// Section 10: each request has one answer, with a reason, in time.
    Answered,
    /// Section 11: a datagram causes two at most.
    Answers,
    /// Section 11: memory is bounded.
    Memory,
    /// No input crashes a node.
    Panic,
    /// There is no end to the datagrams.
    Storm,
    /// All datagrams that are sent are valid.
    Valid,
    /// In the end: one ring of all live nodes.
    Ring,
    /// In the end: one token.
    Token,
    /// In the end: the largest live node is coordinator, not acting.
    Led,
    /// When nothing goes wrong nobody is removed, claims, or makes a token.
    Calm,
    /// Every member holds the token once a round.
    Round,
    /// What is posted when nothing goes wrong is acknowledged within a round.
    Served,
    /// After one crash the token goes on in time.
    GoesOn,
}

impl Rule {
    /// The promise in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Order => "always: sequences of posts decrease, or two nodes have used one",
            Self::Acknowledged => "always: what is answered of a post is not so",
            Self::Cycle => "always: the members are no cycle",
            Self::Proof => "section 6: a node that is cut off claims from a coordinator that lives",
            Self::Beat => "section 6: a node claims from a coordinator whose beat moves",
            Self::Written => "section 7: a database that refuses what a node writes is up to it",
            Self::Use => "section 9: a node uses a token that it does not hold",
            Self::Sequence => "section 9: a node takes a token that is no newer than it had",
            Self::Answered => "section 10: a request has not one answer, with a reason, in time",
            Self::Answers => "section 11: datagrams are answered with more than there should be",
            Self::Memory => "section 11: memory is not bounded",
            Self::Panic => "section 11: a node crashes",
            Self::Storm => "section 11: there is no end to the datagrams",
            Self::Valid => "a datagram that is not valid is sent",
            Self::Ring => "in the end: there is not one ring of all live nodes in time",
            Self::Token => "in the end: there is not exactly one token in time",
            Self::Led => "in the end: the largest live node is not coordinator in time",
            Self::Calm => {
                "in the end: the ring is changed, or a token made, though nothing goes wrong"
            }
            Self::Round => "in the end: a member does not hold the token in a round",
            Self::Served => "in the end: a post is not acknowledged in time",
            Self::GoesOn => "in the end: the token does not go on in time after a crash",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// What the page says may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// A client does not know whether its post was written.
    Unknown,
    /// The node has died with a client's request.
    Died,
    /// Two nodes held a token at a time, while things went wrong.
    TwoTokens,
    /// The token was with the node that has crashed.
    LostToken,
}

impl Excuse {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Died, Self::TwoTokens, Self::LostToken];

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unknown => "answered unknown",
            Self::Died => "node died before its answer",
            Self::TwoTokens => "two tokens at a time",
            Self::LostToken => "token lost in a crash",
        }
    }
}

/// Something that must not happen, and did.
pub type Violation = violation::Violation<Rule>;

/// What a run has come to.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// How often each fault really happened, by [`FaultKind`] as a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met([u64; FaultKind::ALL.len()]);

/// Arrays as long have none of their own.
impl Default for Met {
    fn default() -> Self {
        Self([0; FaultKind::ALL.len()])
    }
}

impl Met {
    /// It has happened once more.
    pub const fn note(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }
}

/// Counts of what happened in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// JOIN, SUCCESSOR, `SUCCESSOR_REQUEST` and elections of the method BULLY sent as datagrams.
    pub sent: [u64; 4],
    /// Datagrams that nobody's process has sent: of strangers, and replays.
    pub injected: u64,
    /// Datagrams that nodes have read.
    pub delivered: u64,
    /// Datagrams that found the socket of a process that does not read full.
    pub overflowed: u64,
    /// How often each fault really happened, by [`FaultKind`] as a number.
    pub met: Met,
    /// How often something was excused.
    pub excused: BTreeMap<Excuse, u64>,
    /// Transactions done, refused and failed.
    pub jobs: [u64; 3],
    /// Requests answered: done, `token`, `database`, `unknown`, `crowded`.
    pub answers: [u64; 5],
    /// Tokens held, returned without an acknowledgement, made and lost.
    pub tokens: [u64; 4],
    /// Claims, removals of other nodes, and nodes that were put in.
    pub topology: [u64; 3],
    /// Elections started and won.
    pub elections: [u64; 2],
    /// Frames that were dropped, and connections closed for what came.
    pub dropped: u64,
    /// Posts in the table.
    pub posts: u64,
    /// Events of the world.
    pub events: u64,
    /// From the end of the faults until there was one ring for good.
    pub ring_after: Option<Duration>,
    /// Until there was one token for good.
    pub token_after: Option<Duration>,
    /// Until the largest was coordinator, not acting.
    pub led_after: Option<Duration>,
    /// From the crash of a node that has not the token until all others had it.
    pub went_on_after: Option<Duration>,
    /// How long the run took, by the world's time.
    pub time: Duration,
    /// A hash over everything that was sent and told, and when: equal runs have equal fingerprints.
    pub fingerprint: u64,
}

impl Stats {
    /// How often a kind of fault really happened.
    #[must_use]
    pub const fn met(&self, kind: FaultKind) -> u64 {
        self.met.0[kind as usize]
    }

    /// How often something was excused for this reason.
    #[must_use]
    pub fn excused(&self, excuse: Excuse) -> u64 {
        self.excused.get(&excuse).copied().unwrap_or(0)
    }

    /// Adds what happened in another run; of times that something took the longest counts.
    pub fn add(&mut self, other: &Self) {
        let pairs = self.sent.iter_mut().zip(other.sent);
        let pairs = pairs.chain(self.met.0.iter_mut().zip(other.met.0));
        let pairs = pairs.chain(self.jobs.iter_mut().zip(other.jobs));
        let pairs = pairs.chain(self.answers.iter_mut().zip(other.answers));
        let pairs = pairs.chain(self.tokens.iter_mut().zip(other.tokens));
        let pairs = pairs.chain(self.topology.iter_mut().zip(other.topology));
        for (sum, count) in pairs.chain(self.elections.iter_mut().zip(other.elections)) {
            *sum += count;
        }
        for (&excuse, count) in &other.excused {
            *self.excused.entry(excuse).or_default() += count;
        }
        self.injected += other.injected;
        self.delivered += other.delivered;
        self.overflowed += other.overflowed;
        self.dropped += other.dropped;
        self.posts += other.posts;
        self.events += other.events;
        self.ring_after = self.ring_after.max(other.ring_after);
        self.token_after = self.token_after.max(other.token_after);
        self.led_after = self.led_after.max(other.led_after);
        self.went_on_after = self.went_on_after.max(other.went_on_after);
        self.time += other.time;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }
}
