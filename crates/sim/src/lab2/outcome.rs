//! What a run has come to.

use std::fmt;
use std::time::Duration;

use ring_codec::lab2::Kind;

use super::settings::FaultKind;
use crate::kernel::violation;

/// What must hold, by its number in `docs/protocol.md`, section 5, where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// 1: no two nodes hold equal tokens.
    EqualTokens,
    /// 2: exactly one owner remains, in time.
    OneOwner,
    /// 3: a member that wants the token gets it within (members + 1) tenures.
    Served,
    /// 4: a dead owner is replaced, in time.
    Replaced,
    /// 4: replacing an owner costs O(n) broadcasts.
    Broadcasts,
    /// 5: all tables become equal.
    EqualTables,
    /// 6: the identity of a tenure is never used twice.
    Identity,
    /// 6: a node's own tenures only grow stronger.
    Growth,
    /// 6: the tokens that one resource accepts never go back.
    Fencing,
    /// 7: a frame is answered with two frames at the most.
    Replies,
    /// 7: the member table is in order and bounded.
    Table,
    /// 7: no input crashes a node.
    Panic,
    /// 7: the ring comes to rest; nothing multiplies for ever.
    Storm,
    /// Two halves never both have a quorum.
    Quorum,
    /// A holder with a quorum loses it only when it loses its majority, ends or is told to end.
    Kept,
    /// No two applications rely on a token at the same time, as long as no frame is lost.
    Lease,
    /// A job is run once in its period.
    Once,
    /// No clock takes the token further than 30 days at once.
    Clock,
    /// What is told of as wrong is over when nothing is wrong.
    Trouble,
    /// Nothing is told of a token before it was stored.
    Stored,
    /// All frames that are sent are valid.
    Valid,
}

impl Rule {
    /// The promise in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::EqualTokens => "invariant 1: two nodes hold equal tokens",
            Self::OneOwner => "invariant 2: there is not exactly one owner in time",
            Self::Served => "invariant 3: a member that wants the token is not served in time",
            Self::Replaced => "invariant 4: a dead owner is not replaced in time",
            Self::Broadcasts => "invariant 4: replacing an owner costs too many broadcasts",
            Self::EqualTables => "invariant 5: the tables do not become equal",
            Self::Identity => "invariant 6: the identity of a tenure is used twice",
            Self::Growth => "invariant 6: a node's tenures go back",
            Self::Fencing => "invariant 6: a resource accepts tokens that go back",
            Self::Replies => "invariant 7: a frame is answered with more than two",
            Self::Table => "invariant 7: a member table is out of order or too large",
            Self::Panic => "invariant 7: a node crashes",
            Self::Storm => "invariant 7: there is no end to the frames",
            Self::Quorum => "two nodes have a quorum at the same time",
            Self::Kept => "a node that has a quorum loses its token to another",
            Self::Lease => "two applications rely on a token at the same time",
            Self::Once => "a job is run twice in its period",
            Self::Clock => "a wrong clock takes the token too far",
            Self::Trouble => "a trouble is told of that is over",
            Self::Stored => "a token is told of that is not stored",
            Self::Valid => "a frame that is not valid is sent",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Something that must not happen, and did.
pub type Violation = violation::Violation<Rule>;

/// What a run has come to.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// How often each fault really happened, by [`FaultKind`] as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Met(pub [u64; FaultKind::ALL.len()]);

impl Default for Met {
    fn default() -> Self {
        Self([0; FaultKind::ALL.len()])
    }
}

/// Counts of what happened in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames sent, by [`Kind`] as a number; at 0 those of strangers and replays.
    pub sent: [u64; Kind::ALL.len() + 1],
    /// Those of them to the broadcast address.
    pub broadcast: [u64; Kind::ALL.len() + 1],
    /// Copies of frames that nodes have read.
    pub delivered: u64,
    /// How often each fault really happened, by [`FaultKind`] as a number.
    pub met: Met,
    /// Frames that were received and dropped.
    pub dropped: u64,
    /// Frames that found the queue of a paused or slow node full.
    pub overflowed: u64,
    /// How often a node was elected.
    pub elections: u64,
    /// Tenures that began, whoever's.
    pub tenures: u64,
    /// Tenures that had a quorum.
    pub quorums: u64,
    /// Hand-overs that failed.
    pub failed_hand_overs: u64,
    /// How often a node said that a member is silent, and that it is forgotten.
    pub silent: u64,
    pub forgotten: u64,
    /// OWNERs that gave up because they could send no heartbeat.
    pub expired_leases: u64,
    /// Work that was begun with a token.
    pub jobs: u64,
    /// Jobs that were begun, to run once in a period.
    pub runs: u64,
    /// Work that a fenced resource refused: the token was outdated.
    pub fenced: u64,
    /// Invariants that a fault voids by nature, and that were broken so.
    pub exempted: u64,
    /// Events of the world.
    pub events: u64,
    /// When the last fault ended, from the beginning.
    pub calm_at: Duration,
    /// From the end of the faults until one owner was left for good.
    pub one_owner_after: Option<Duration>,
    /// From the end of the faults until all tables were equal.
    pub tables_equal_after: Option<Duration>,
    /// The most tenures that a member that wanted the token had to wait after the faults.
    pub tenures_waited: u64,
    /// From the death of the owner to the next.
    pub replaced_after: Option<Duration>,
    /// How long the run took, by the world's time.
    pub time: Duration,
    /// A hash over everything that was sent, and when: equal runs have equal fingerprints.
    pub fingerprint: u64,
}

impl Stats {
    /// How many frames of a kind were sent.
    #[must_use]
    pub const fn sent(&self, kind: Kind) -> u64 {
        self.sent[kind as usize]
    }

    /// How many frames of a kind were broadcast.
    #[must_use]
    pub const fn broadcasts(&self, kind: Kind) -> u64 {
        self.broadcast[kind as usize]
    }

    /// How many frames were sent in all, those of strangers included.
    #[must_use]
    pub fn sent_in_all(&self) -> u64 {
        self.sent.iter().sum()
    }

    /// How often a kind of fault really happened.
    #[must_use]
    pub const fn met(&self, kind: FaultKind) -> u64 {
        self.met.0[kind as usize]
    }
}
