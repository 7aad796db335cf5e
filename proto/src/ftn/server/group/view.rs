//! The server's view of the group: the last known configuration, and its age.

use std::time::Duration;

use ring_codec::ftn::ServerState;

use crate::ftn::{CONFIGURATION_NUMBER_MAX, Configuration};
use crate::time::Instant;

/// Bits of a seq that count the rounds of a configuration.
const ROUND_BITS: u32 = 32;

/// Bit of a round. With this bit, a leader announces that perhaps no quorum has acknowledged the configuration. Leaders
/// of other implementations count rounds from 1, and do not set this bit.
const UNPROVEN_BIT: i128 = 1 << 30;
/// Bit of a round. With this bit, a leader announces that a quorum has acknowledged the configuration. After this
/// acknowledgement, a server that does not know this configuration cannot win an election.
const PROVEN_BIT: i128 = 1 << 31;

// Each of the two bits starts a new range of seqs, so that a later round always has a larger seq.
const fn with_unproven_bit(seq: i128) -> i128 {
    seq | UNPROVEN_BIT
}

const fn with_proven_bit(seq: i128) -> i128 {
    // The bit for "proven" is above the bit for "unproven", so the seq grows.
    (seq & !UNPROVEN_BIT) | PROVEN_BIT
}

/// Whether a round announces that a quorum has acknowledged the configuration.
pub(crate) const fn is_proven(seq: i128) -> bool {
    seq & PROVEN_BIT != 0
}

/// Whether a round announces that perhaps no quorum has acknowledged the configuration.
pub(crate) const fn is_unproven(seq: i128) -> bool {
    seq & (PROVEN_BIT | UNPROVEN_BIT) == UNPROVEN_BIT
}

/// Returns the seq before the first round of a configuration.
pub(crate) fn seq_of(configuration: u64) -> i128 {
    i128::from(configuration) << ROUND_BITS
}

/// Returns the configuration of a seq, or `None` if its number is too large.
pub(crate) fn configuration_of(seq: i128) -> Option<u64> {
    let configuration = u64::try_from(seq >> ROUND_BITS).ok()?;
    (configuration <= CONFIGURATION_NUMBER_MAX).then_some(configuration)
}

/// The last STATE that this server sent as the leader, or that it followed.
#[derive(Debug, Clone, Hash)]
pub(crate) struct View {
    /// Seq of the STATE, or 0 if there was no STATE.
    seq: i128,
    /// Time at which the server sent or received the STATE.
    at: Instant,
    /// Seq for ELECT after a leader gave up: the newest seq that a quorum acknowledged.
    proven: Option<i128>,
    /// Configuration of the STATE.
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

    /// Returns the seq of the last STATE that was sent or followed, or 0 if there was no STATE.
    pub(crate) const fn seq(&self) -> i128 {
        self.seq
    }

    pub(crate) fn elect_seq(&self) -> i128 {
        // If this server gave up its leadership, rounds that perhaps no other server knows must not win the election.
        self.proven.unwrap_or(self.seq)
    }

    /// Whether the last STATE is at most `warmth` old.
    pub(crate) fn is_warm(&self, now: Instant, warmth: Duration) -> bool {
        self.seq > 0 && now.since(self.at) <= warmth
    }

    /// Returns the configuration, or `None` if no configuration is known.
    pub(crate) const fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    /// Follows a STATE of another server.
    pub(crate) fn follow(&mut self, seq: i128, configuration: Configuration, at: Instant) {
        *self = Self {
            seq,
            at,
            proven: None,
            configuration: Some(configuration),
        };
    }

    /// Installs a new configuration that this server made. The server's first round of this configuration follows
    /// later.
    pub(crate) fn install(&mut self, configuration: Configuration) {
        // The time stays as it is, because the first round sets it.
        self.seq = seq_of(configuration.number());
        self.proven = None;
        self.configuration = Some(configuration);
    }

    /// Starts a round and returns its seq. `is_proven` states whether a quorum has acknowledged the configuration. If
    /// `is_proven` is `None`, sets neither of the two bits.
    pub(crate) fn begin_round(&mut self, now: Instant, is_proven: Option<bool>) -> i128 {
        self.seq = match is_proven {
            Some(true) => with_proven_bit(self.seq),
            Some(false) => with_unproven_bit(self.seq),
            None => self.seq,
        } + 1;
        self.at = now;
        self.seq
    }

    /// Records that this server gives up its leadership. In the next election, this server uses only the seq that a
    /// quorum acknowledged.
    pub(crate) const fn give_up(&mut self, proven: i128, since: Instant) {
        self.proven = Some(proven);
        // An election counts the age of acknowledged knowledge, not the age of rounds that perhaps no server heard.
        self.at = since;
    }

    /// Returns the configuration's number, or 0 if no configuration is known.
    pub(crate) fn number(&self) -> u64 {
        self.configuration.as_ref().map_or(0, Configuration::number)
    }

    /// Returns a server's state. Returns DOWN if no configuration is known.
    pub(crate) fn state(&self, index: usize) -> ServerState {
        let configuration = self.configuration.as_ref();
        configuration.map_or(ServerState::Down, |c| c.state(index))
    }
}
