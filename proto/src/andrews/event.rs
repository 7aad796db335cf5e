//! Events that a node reports to its observers.

use std::net::IpAddr;

use ring_codec::andrews::Method;

use super::{DatabaseState, Reason, RequestAnswer, State};

/// An event of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The node entered a state.
    StateChanged {
        /// The new state.
        state: State,
    },
    /// The coordinator's row changed since the last look.
    CoordinatorChanged {
        /// The coordinator.
        id: Option<u32>,
        /// The row's version.
        term: u64,
        /// Whether the coordinator is an acting coordinator, not an elected coordinator.
        acting: bool,
    },
    /// The members changed since the last look.
    MembersChanged {
        /// The number of members.
        members: usize,
    },
    /// The connection to the successor is up.
    SuccessorUp {
        /// The successor.
        id: u32,
    },
    /// The successor is lost. The next look decides the next step of the node.
    SuccessorLost {
        /// The successor.
        id: u32,
        /// The reason for which the node treats the successor as lost.
        why: SuccessorLoss,
    },
    /// The successor failed, and the coordinator must remove it from the ring.
    SuccessorFailed {
        /// The successor.
        id: u32,
    },
    /// A predecessor sent its hello.
    PredecessorUp {
        /// The predecessor.
        id: u32,
    },
    /// The connection of the predecessor is closed.
    PredecessorLost {
        /// The predecessor.
        id: u32,
    },
    /// The database has a row for a node that is not in the list.
    UnknownRow {
        /// The node.
        id: u32,
    },
    /// A node sends from a different address than the address in the list.
    UnknownSender {
        /// The id of the sender in the frame.
        id: u32,
        /// The address that the frame came from.
        from: IpAddr,
    },
    /// The coordinator does not answer this node's requests, although the coordinator's beat in the database grows.
    Unanswered {
        /// The coordinator.
        id: u32,
    },
    /// This coordinator inserted a node into the ring.
    NodeJoined {
        /// The node.
        id: u32,
    },
    /// This node removed a node from the ring.
    NodeRemoved {
        /// The removed node.
        id: u32,
    },
    /// According to the rows, this node is no longer in the ring.
    Removed,
    /// A claim was committed.
    Claimed,
    /// The node holds the token.
    TokenHeld {
        /// The token's sequence.
        sequence: u64,
    },
    /// The successor acknowledged the token.
    TokenPassed {
        /// The sequence of the passed token.
        sequence: u64,
    },
    /// A pass got no acknowledgement, and the node holds the token again.
    TokenReturned {
        /// The token's new sequence.
        sequence: u64,
    },
    /// The node discarded a token.
    TokenLost {
        /// The token's sequence.
        sequence: u64,
    },
    /// The node made a token.
    TokenMade {
        /// The token's sequence.
        sequence: u64,
        /// Whether the token is the first token of a new ring. If the value is false, the token replaces a lost token.
        is_first: bool,
    },
    /// The node started an election.
    ElectionStarted {
        /// The method of the election.
        method: Method,
    },
    /// This node won an election.
    ElectionWon {
        /// The method of the election.
        method: Method,
    },
    /// The result of an election arrived.
    ElectionResult {
        /// The winner.
        id: u32,
    },
    /// The state of the database changed.
    DatabaseChanged {
        /// The new state.
        state: DatabaseState,
    },
    /// A request has its answer.
    Answered {
        /// The request's id.
        request: u64,
        /// The answer.
        answer: RequestAnswer,
    },
    /// New posts were read for the clients that listen.
    PostsRead,
    /// A frame was dropped, or a connection was closed.
    Dropped {
        /// The address of the sender.
        from: IpAddr,
        /// The reason.
        reason: Reason,
    },
    /// The node has ended.
    ShutDown,
}

/// The way in which a node noticed that its successor was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuccessorLoss {
    /// A connection could not be opened: it was refused, timed out, or had no route.
    NotConnected,
    /// The connection ended.
    Ended,
    /// The successor did not acknowledge the token in time.
    NotAcknowledged,
}

impl SuccessorLoss {
    /// Returns a clause for a message about the successor.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotConnected => "no connection to it could be opened",
            Self::Ended => "its connection has ended",
            Self::NotAcknowledged => "it has not acknowledged the token in time",
        }
    }
}
