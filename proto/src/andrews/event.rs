//! What a node tells its observers.

use std::net::IpAddr;

use ring_codec::andrews::Method;

use super::{Answer, DatabaseState, Reason, State};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The node has entered a state.
    StateChanged {
        /// The state from now on.
        state: State,
    },
    /// The coordinator's row has changed, as far as this node has read it.
    CoordinatorChanged {
        /// Who is coordinator.
        id: Option<u32>,
        /// The row's version.
        term: u64,
        /// Whether it is an acting one.
        acting: bool,
    },
    /// The members have changed, as far as this node has read them.
    MembersChanged {
        /// How many there are.
        members: usize,
    },
    /// The connection to this successor stands.
    SuccessorUp {
        /// Whose it is.
        id: u32,
    },
    /// The successor is lost: the rows say what follows.
    SuccessorLost {
        /// Who it was.
        id: u32,
        /// How it was noticed.
        why: Loss,
    },
    /// The successor has failed, and is to be taken out of the ring.
    SuccessorFailed {
        /// Who it is.
        id: u32,
    },
    /// A predecessor has said hello.
    PredecessorUp {
        /// Who it is.
        id: u32,
    },
    /// There is no predecessor's connection any longer.
    PredecessorLost {
        /// Whose it was.
        id: u32,
    },
    /// The database has a row of a node that the list does not have.
    UnknownRow {
        /// Which.
        id: u32,
    },
    /// A node sends from an address at which the list does not have it.
    UnknownSender {
        /// The node that the frame names.
        id: u32,
        /// Where it came from.
        from: IpAddr,
    },
    /// The coordinator answers no request of this node, and its beat in the database moves.
    Unanswered {
        /// The coordinator.
        id: u32,
    },
    /// A node was put into the ring by this coordinator.
    NodeJoined {
        /// Which.
        id: u32,
    },
    /// A node was taken out of the ring by this coordinator.
    NodeRemoved {
        /// Which.
        id: u32,
    },
    /// The rows say that this node is no longer in the ring.
    Removed,
    /// A claim was committed.
    Claimed,
    /// The token is here.
    TokenHeld {
        /// Its sequence.
        sequence: u64,
    },
    /// The successor has acknowledged the token.
    TokenPassed {
        /// The sequence that it has there.
        sequence: u64,
    },
    /// A token was not acknowledged, and is here again.
    TokenReturned {
        /// Its sequence from now on.
        sequence: u64,
    },
    /// A token that was here is forgotten.
    TokenLost {
        /// The sequence that it had.
        sequence: u64,
    },
    /// A token was made here.
    TokenMade {
        /// Its sequence.
        sequence: u64,
        /// Whether it is a new ring's, and not in the place of one that was lost.
        is_first: bool,
    },
    /// An election was started here.
    ElectionStarted {
        /// Its method.
        method: Method,
    },
    /// This node has won an election.
    ElectionWon {
        /// Its method.
        method: Method,
    },
    /// A result of an election has come.
    ElectionResult {
        /// Who is to be coordinator.
        id: u32,
    },
    /// How the database is.
    DatabaseChanged {
        /// From now on.
        state: DatabaseState,
    },
    /// A request has its answer.
    Answered {
        /// The request.
        request: u64,
        /// What has become of it.
        answer: Answer,
    },
    /// New posts were read for those who listen.
    Fed,
    /// A frame was dropped, or a connection closed.
    Dropped {
        /// Where it came from.
        from: IpAddr,
        /// Why.
        reason: Reason,
    },
    /// The node has ended.
    ShutDown,
}

/// How it was noticed that a successor is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// There was no connection: refused, timed out, no way there.
    NotConnected,
    /// The connection has ended.
    Ended,
    /// The token was not acknowledged in time.
    NotAcknowledged,
}

impl Loss {
    /// What happened, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotConnected => "it cannot be connected to",
            Self::Ended => "its connection has ended",
            Self::NotAcknowledged => "it has not acknowledged the token in time",
        }
    }
}
