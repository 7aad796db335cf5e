//! Events that a node reports to its observers.

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::{Reason, State};

/// An event of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The node entered a state, or it is a leader and the id of its token changed.
    StateChanged {
        /// The new state.
        state: State,
        /// The absolute value of the new token_id.
        token_id: u32,
    },
    /// The permission for [local work](super::Command::Work) to use the token changed.
    UseChanged {
        /// Whether local work may use the token.
        may_use: bool,
    },
    /// The node started a restore: it asks whether it may become leader.
    RestoreBegan,
    /// A node objected to the restore.
    RestoreDenied {
        /// The node that objected.
        by: IpAddr,
    },
    /// The restore was granted: the node leads.
    RestoreWon,
    /// The leader of a stronger token was heard.
    RivalHeard {
        /// The absolute token_id of that token.
        token_id: u32,
        /// The leader.
        from: IpAddr,
    },
    /// A token from another node arrived.
    Accepted {
        /// The effect of the token.
        how: Acceptance,
        /// The absolute token_id of the token that came.
        token_id: u32,
        /// The giver.
        from: IpAddr,
    },
    /// A pass is done: the candidate has the token.
    Passed {
        /// The candidate.
        to: Node,
    },
    /// A pass failed: the candidate cannot have the token. The node tries the next candidate.
    PassFailed {
        /// The candidate.
        to: Node,
        /// The cause.
        why: PassFailure,
    },
    /// The outcome of a pass is unknown: the candidate may have the token. The node becomes an orphan.
    PassUnknown {
        /// The candidate.
        to: Node,
        /// The cause.
        why: PassFailure,
    },
    /// A pass was aborted. The cause is a token from another node, a stall, a shutdown or a change of the network.
    PassAborted {
        /// The candidate.
        to: Node,
    },
    /// The loop stalled for so long that another node may lead now, or that the answers to a restore are too old.
    Stalled {
        /// The length of the stall.
        after: Duration,
    },
    /// The data has changed.
    DataChanged {
        /// The length of the data in bytes.
        len: usize,
    },
    /// A computation failed, and the data are unchanged.
    ComputeFailed,
    /// A decision failed. The node continues with the received data.
    DecideFailed,
    /// The node dropped the data of a received token, because too many data already wait for a decision.
    DataDropped,
    /// The node gives its token to the leader of a stronger token.
    GaveWay {
        /// The leader of the stronger token.
        to: IpAddr,
        /// The absolute token_id of the stronger token.
        token_id: u32,
    },
    /// The options of a node differ from this node's options, although all nodes of a ring need the same options.
    NodeDiffers {
        /// The node.
        node: IpAddr,
        /// The difference.
        how: Difference,
    },
    /// A received list contained too many new nodes, or nodes that cannot be on the link. The node left the invalid
    /// entries out.
    ListCut {
        /// The giver of the list.
        from: IpAddr,
        /// The number of entries that were left out.
        left_out: usize,
    },
    /// A node that never answered was removed from the list.
    NodeForgotten {
        /// The node.
        node: Node,
    },
    /// A node was added to the list, or the port of a listed node changed.
    NodeAdded {
        /// The node.
        node: Node,
    },
    /// The lists are full, so a node was not added.
    NodeRefused {
        /// The node.
        node: Node,
    },
    /// The node's address changed.
    AddressChanged {
        /// The new address, or `None` if the node has no address.
        address: Option<IpAddr>,
    },
    /// A datagram or an exchange was dropped.
    Dropped {
        /// The address of the sender.
        from: IpAddr,
        /// The reason.
        reason: Reason,
    },
    /// The node has ended.
    ShutDown,
}

/// A difference between the options of two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Different times. The fields contain the times of the other node.
    Times {
        /// The lease of the other node: (2 × `tr_count` - 1) × `tr_interval`.
        lease: Duration,
        /// The `renew_timeout` of the other node.
        renew_timeout: Duration,
        /// The `token_pass_timeout` of the other node.
        token_pass_timeout: Duration,
    },
    /// A different computation or decision.
    Policy,
    /// A lease that is forbidden for every node.
    Lease,
}

/// The effect of a token from another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// The node leads with the token.
    Taken,
    /// The node already had a token, and merged the two tokens into one token.
    Merged,
    /// The node dropped the received token, because a stronger token exists.
    Absorbed,
}

/// The reason why a pass did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassFailure {
    /// No process listens at the port.
    Refused,
    /// The candidate reset the connection.
    Reset,
    /// The candidate closed its side of the connection so early that it cannot have the token.
    Ended,
    /// The candidate sent an unexpected message.
    Unexpected,
    /// The pass took longer than `token_pass_timeout`.
    TimedOut,
    /// No connection to the candidate could be opened.
    Unreachable,
    /// The address of this node changed.
    NetworkChanged,
}

impl PassFailure {
    /// Returns the cause as a clause of a message.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Refused => "the candidate refused the connection",
            Self::Reset => "the candidate reset the connection",
            Self::Ended => "the candidate closed the connection too early",
            Self::Unexpected => "the candidate sent an unexpected message",
            Self::TimedOut => "the pass took longer than --token-pass-timeout",
            Self::Unreachable => "the candidate is unreachable",
            Self::NetworkChanged => "this node's network changed",
        }
    }
}
