//! What the server knows of the group: the configuration and how fresh it is.

use std::time::Duration;

use ring_codec::ftn::ServerState;

use crate::ftn::{Configuration, MAX_NUMBER};
use crate::time::Instant;

/// Bits of a seq that count the rounds of a configuration.
const ROUND_BITS: u32 = 32;

/// Where rounds begin of a leader that says whether a quorum has acknowledged the configuration: it has not. A leader
/// of another implementation counts from 1, and says nothing of that.
const TELLS: i128 = 1 << 30;
/// And from where on it has: no other leader can be elected that knows less.
const PROVEN: i128 = 1 << 31;

/// The seq from which rounds go on that say that no quorum is known to have acknowledged the configuration.
const fn unproven(seq: i128) -> i128 {
    seq | TELLS
}

/// The seq from which rounds go on that say that one has.
const fn proven(seq: i128) -> i128 {
    (seq & !TELLS) | PROVEN
}

/// Whether a round says so.
pub(crate) const fn is_proven(seq: i128) -> bool {
    seq & PROVEN != 0
}

/// Whether a round says that it is not known.
pub(crate) const fn is_unproven(seq: i128) -> bool {
    seq & (PROVEN | TELLS) == TELLS
}

/// The seq that a configuration's rounds begin above.
pub(crate) fn seq_of(configuration: u64) -> i128 {
    i128::from(configuration) << ROUND_BITS
}

/// The configuration that a seq belongs to; `None`: there is no such seq.
pub(crate) fn configuration_of(seq: i128) -> Option<u64> {
    let configuration = u64::try_from(seq >> ROUND_BITS).ok()?;
    (configuration <= MAX_NUMBER).then_some(configuration)
}

/// The last STATE that this server has sent as the leader or followed.
#[derive(Debug, Clone, Hash)]
pub(crate) struct View {
    /// Its seq; 0 if there was none.
    seq: i128,
    /// When it was sent or received.
    at: Instant,
    /// What ELECT says in its place: of a leader that has given up, what a quorum had acknowledged.
    proven: Option<i128>,
    /// What it said.
    configuration: Option<Configuration>,
}

impl View {
    pub(crate) const fn new() -> Self {
        Self {
            seq: 0,
            at: Instant::from_nanos(0),
            proven: None,
            configuration: None,
        }
    }

    /// The seq of the last STATE that was sent or followed, 0 if there was none.
    pub(crate) const fn seq(&self) -> i128 {
        self.seq
    }

    /// What ELECT says that is known.
    pub(crate) fn elect_seq(&self) -> i128 {
        self.proven.unwrap_or(self.seq)
    }

    /// Whether there was a STATE, not longer ago than this.
    pub(crate) fn is_warm(&self, now: Instant, warmth: Duration) -> bool {
        self.seq > 0 && now.since(self.at) <= warmth
    }

    /// The configuration; `None`: none is known.
    pub(crate) const fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    /// A STATE of another server is followed.
    pub(crate) fn follow(&mut self, seq: i128, configuration: Configuration, at: Instant) {
        *self = Self {
            seq,
            at,
            proven: None,
            configuration: Some(configuration),
        };
    }

    /// This server puts a configuration of its own into force. No round has told of it yet.
    pub(crate) fn install(&mut self, configuration: Configuration) {
        self.seq = seq_of(configuration.number());
        self.proven = None;
        self.configuration = Some(configuration);
    }

    /// A round is sent now, which says whether a quorum has acknowledged the configuration. `None`: it does not say.
    pub(crate) fn begin_round(&mut self, now: Instant, is_proven: Option<bool>) -> i128 {
        self.seq = match is_proven {
            Some(true) => proven(self.seq),
            Some(false) => unproven(self.seq),
            None => self.seq,
        } + 1;
        self.at = now;
        self.seq
    }

    /// A leader gives up that had authority until then. It knows no more than what a quorum has acknowledged.
    pub(crate) const fn give_up(&mut self, proven: i128, since: Instant) {
        self.proven = Some(proven);
        self.at = since;
    }

    /// The configuration's number; 0: none is known.
    pub(crate) fn number(&self) -> u64 {
        self.configuration.as_ref().map_or(0, Configuration::number)
    }

    /// What it says of a server.
    pub(crate) fn state(&self, index: usize) -> ServerState {
        let configuration = self.configuration.as_ref();
        configuration.map_or(ServerState::Down, |c| c.state(index))
    }
}
