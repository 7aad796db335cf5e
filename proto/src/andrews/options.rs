//! The options of a node (`docs/board.md`, section 1).

use std::time::Duration;

use ring_codec::andrews::Method;
use thiserror::Error;

use super::NodeList;

/// The options of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// This node's id, which the list must have.
    pub id: u32,
    /// The method of the elections that this node starts.
    pub election: Method,
    /// Whether the node empties the topology first.
    pub drop: bool,
    /// How long the node keeps a token without work.
    pub hold: Duration,
    /// How long the node waits for a TOKEN_ACK. It is also the interval of JOIN and SUCCESSOR_REQUEST.
    pub ack_timeout: Duration,
    /// The fixed part of [`token_loss_timeout`](Self::token_loss_timeout).
    pub token_timeout: Duration,
    /// How long a connection may take to open, and how long its first frame may take.
    pub connect_timeout: Duration,
    /// How long a frame may take to arrive once it has begun.
    pub liveness: Duration,
    /// T1, the time limit of an answer in an election.
    pub election_timeout: Duration,
    /// The interval of looks.
    pub poll: Duration,
    /// How long a job may take before the database counts as slow.
    pub database_timeout: Duration,
    /// How long the coordinator's beat must not move to count as dead without proof of the network.
    pub alone_timeout: Duration,
    /// How long a request waits for the token.
    pub request_timeout: Duration,
}

/// The reason for which options are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} must be longer than 0")]
    Zero(&'static str),
    /// The list does not have this node.
    #[error("--id {0} is not in the list of nodes")]
    NotInList(u32),
}

impl Options {
    /// Returns the default options of the node with this id.
    pub const fn new(id: u32) -> Self {
        Self {
            id,
            election: Method::RingBased,
            drop: false,
            hold: Duration::from_millis(50),
            ack_timeout: Duration::from_millis(500),
            token_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(1),
            liveness: Duration::from_secs(3),
            election_timeout: Duration::from_secs(1),
            poll: Duration::from_secs(1),
            database_timeout: Duration::from_secs(1),
            alone_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(10),
        }
    }

    /// Checks that the options can work.
    ///
    /// # Errors
    /// Returns an error that names the first option that cannot work.
    pub fn check(&self, list: &NodeList) -> Result<(), OptionsError> {
        let periods = [
            ("--ack-timeout", self.ack_timeout),
            ("--token-timeout", self.token_timeout),
            ("--connect-timeout", self.connect_timeout),
            ("--liveness", self.liveness),
            ("--election-timeout", self.election_timeout),
            ("--poll", self.poll),
            ("--database-timeout", self.database_timeout),
            ("--alone-timeout", self.alone_timeout),
            ("--request-timeout", self.request_timeout),
        ];
        if let Some((name, _)) = periods.into_iter().find(|(_, period)| period.is_zero()) {
            return Err(OptionsError::Zero(name));
        }
        if list.address(self.id).is_none() {
            return Err(OptionsError::NotInList(self.id));
        }
        Ok(())
    }

    /// Returns Q, after which a beat that does not move counts as dead, with proof of the network.
    pub fn beat_timeout_with_proof(&self) -> Duration {
        // One poll for the writer, one for the reader, and the time within which a write must be answered.
        let polls = self.poll.saturating_mul(2);
        polls.saturating_add(self.database_timeout)
    }

    /// Returns how long the beat must not move to count as dead without proof of the network.
    pub fn beat_timeout_without_proof(&self) -> Duration {
        self.alone_timeout.max(self.beat_timeout_with_proof())
    }

    /// Returns R for a ring of `members` nodes. The coordinator makes a token after R without one.
    pub fn token_loss_timeout(&self, members: usize) -> Duration {
        let members = u32::try_from(members).unwrap_or(u32::MAX);
        let holds = self.hold.saturating_mul(members);
        self.token_timeout.saturating_add(holds)
    }
}
