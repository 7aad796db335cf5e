//! The options of a node (`docs/board/protocol/README.md`).

use std::time::Duration;

use ring_codec::andrews::Method;
use thiserror::Error;

use super::NodeList;

/// The options of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// This node's id. The list of nodes must contain this id.
    pub id: u32,
    /// The method of the elections that this node starts.
    pub election: Method,
    /// Whether the node empties the topology at its start.
    pub drop: bool,
    /// The time for which the node keeps a token if the node has no work for it.
    pub hold: Duration,
    /// The time limit of a TOKEN_ACK. The node repeats JOIN and SUCCESSOR_REQUEST at this interval too.
    pub ack_timeout: Duration,
    /// The fixed part of [`token_loss_timeout`](Self::token_loss_timeout).
    pub token_timeout: Duration,
    /// The time limit for opening a connection, and for the first frame of a connection.
    pub connect_timeout: Duration,
    /// The time limit for the other bytes of a frame after its first byte has arrived.
    pub liveness: Duration,
    /// T1, the time limit of an answer in an election.
    pub election_timeout: Duration,
    /// The interval of looks.
    pub poll: Duration,
    /// The time limit of a job. If a job takes longer, the database counts as slow.
    pub database_timeout: Duration,
    /// If the coordinator's beat does not change for this time, the coordinator counts as dead. Then a node needs no
    /// proof that the network works.
    pub alone_timeout: Duration,
    /// The maximum time for which a request waits for the token.
    pub request_timeout: Duration,
}

/// The reason why options are refused.
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

    /// Checks that the node can work with these options.
    ///
    /// # Errors
    /// Returns an error that names the first option that cannot work.
    pub fn check(&self, list: &NodeList) -> Result<(), OptionsError> {
        // `hold` may be zero: a node without work then passes the token at once.
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
        // The other nodes accept frames only from nodes of the list.
        if list.address(self.id).is_none() {
            return Err(OptionsError::NotInList(self.id));
        }
        Ok(())
    }

    /// Returns Q. If the coordinator's beat has not moved for Q, a node may claim the place of the coordinator. For
    /// such a claim, the node needs proof that the network works.
    pub fn beat_timeout_with_proof(&self) -> Duration {
        // The sum of the writer's poll interval, the reader's poll interval, and the time limit of a write.
        let polls = self.poll.saturating_mul(2);
        polls.saturating_add(self.database_timeout)
    }

    /// Returns a minimum time. If the coordinator's beat does not move for this time, a node may claim without proof
    /// that the network works.
    pub fn beat_timeout_without_proof(&self) -> Duration {
        // With proof, the wait must never be longer than without proof, even if `alone_timeout` is short.
        self.alone_timeout.max(self.beat_timeout_with_proof())
    }

    /// Returns R for a ring of `members` nodes. If the coordinator sees no token for R, the coordinator makes a new
    /// token.
    pub fn token_loss_timeout(&self, members: usize) -> Duration {
        let members = u32::try_from(members).unwrap_or(u32::MAX);
        // In one rotation each member may keep the token for `hold`.
        let holds = self.hold.saturating_mul(members);
        self.token_timeout.saturating_add(holds)
    }
}
