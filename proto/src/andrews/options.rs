//! What a node is started with (`docs/board.md`, section 1).

use std::time::Duration;

use ring_codec::andrews::Method;
use thiserror::Error;

use super::NodeList;

/// What a node is told at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// This node's id, which the list must have.
    pub id: u32,
    /// The method of the elections that it starts.
    pub election: Method,
    /// Whether it empties the topology first.
    pub drop: bool,
    /// How long a node without work keeps the token.
    pub hold: Duration,
    /// How long a TOKEN_ACK is waited for; the period of repeats of JOIN and SUCCESSOR_REQUEST.
    pub ack_timeout: Duration,
    /// The fixed part of [`silence`](Self::silence).
    pub token_timeout: Duration,
    /// For a connection to stand, and for the first frame of a new one.
    pub connect_timeout: Duration,
    /// Within which a frame that was begun must end.
    pub liveness: Duration,
    /// T1.
    pub election_timeout: Duration,
    /// The period of reading the rows.
    pub poll: Duration,
    /// How long a statement may take before the database counts as slow.
    pub database_timeout: Duration,
    /// How long the coordinator's beat must stand still to count as dead without proof.
    pub alone_timeout: Duration,
    /// How long a request waits for the token.
    pub request_timeout: Duration,
}

/// Why options cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} must be longer than nothing")]
    Zero(&'static str),
    /// The list does not have this node.
    #[error("--id {0} is not in the list of nodes")]
    NotInList(u32),
}

impl Options {
    /// The defaults, for the node with this id.
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

    /// Checks that they can work.
    ///
    /// # Errors
    /// Names the first option that cannot.
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

    /// How long the coordinator's beat must stand still before it counts as dead, with proof of the network: two polls, one of
    /// its own and one of the reader, and the time in which a write must be answered.
    pub fn still_timeout(&self) -> Duration {
        let polls = self.poll.saturating_mul(2);
        polls.saturating_add(self.database_timeout)
    }

    /// The same without proof: no shorter.
    pub fn lonely_timeout(&self) -> Duration {
        self.alone_timeout.max(self.still_timeout())
    }

    /// R for a ring of so many members: without a token for so long, the coordinator makes one.
    pub fn silence(&self, members: usize) -> Duration {
        let members = u32::try_from(members).unwrap_or(u32::MAX);
        let holds = self.hold.saturating_mul(members);
        self.token_timeout.saturating_add(holds)
    }
}
