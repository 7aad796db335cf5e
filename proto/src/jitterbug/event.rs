//! What a node tells its observers.

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::{Reason, State};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The node has entered a state, or a leader has another token.
    StateChanged {
        /// The state from now on.
        state: State,
        /// The absolute token_id from now on.
        token_id: u32,
    },
    /// Whether [local work](super::Command::Work) may use the token from now on.
    UseChanged {
        /// Whether it may.
        may_use: bool,
    },
    /// The node asks whether it may be leader.
    RestoreBegan,
    /// It may not.
    RestoreDenied {
        /// Who said so.
        by: IpAddr,
    },
    /// Nobody objected: the node leads.
    RestoreWon,
    /// Another leader was heard whose token is stronger.
    RivalHeard {
        /// The absolute token_id of its token.
        token_id: u32,
        /// Who leads.
        from: IpAddr,
    },
    /// A token came from another node.
    Accepted {
        /// What has become of it.
        how: Acceptance,
        /// Its absolute token_id.
        token_id: u32,
        /// Who gave it.
        from: IpAddr,
    },
    /// A candidate has the token.
    Passed {
        /// The candidate.
        to: Node,
    },
    /// A candidate cannot have the token, and the next one is tried.
    PassFailed {
        /// The candidate.
        to: Node,
        /// Why not.
        why: Failure,
    },
    /// A candidate may have the token: the node becomes an orphan.
    PassUnknown {
        /// The candidate.
        to: Node,
        /// Why that is not known.
        why: Failure,
    },
    /// A pass was broken off in favour of an inbound one, because of a stall, a shutdown or a change of the network.
    PassAborted {
        /// The candidate.
        to: Node,
    },
    /// The loop stood still so long that another may lead by now, or that what a restore has heard is worth nothing.
    Stalled {
        /// How long.
        after: Duration,
    },
    /// The data has changed.
    DataChanged {
        /// Its length in bytes.
        len: usize,
    },
    /// A computation left the data as it was.
    ComputeFailed,
    /// A decision was not made: the received data continues.
    DecideFailed,
    /// Too many tokens were taken while a decision was made: the data of this one counts for nothing.
    DataDropped,
    /// The token goes to another leader, whose token is stronger.
    GaveWay {
        /// That leader.
        to: IpAddr,
        /// The absolute token_id of its token.
        token_id: u32,
    },
    /// A node has other options, which have to be equal on all nodes.
    NodeDiffers {
        /// The node.
        node: IpAddr,
        /// What differs.
        how: Difference,
    },
    /// A list named more nodes than are taken from one, or nodes that cannot be on the link.
    ListCut {
        /// Who gave it.
        from: IpAddr,
        /// How many entries were left out.
        left_out: usize,
    },
    /// A node that never answered is in the list no more.
    NodeForgotten {
        /// The node.
        node: Node,
    },
    /// A node is in the list from now on, or has another port there.
    NodeAdded {
        /// The node.
        node: Node,
    },
    /// The lists are full: the node is in none.
    NodeRefused {
        /// The node.
        node: Node,
    },
    /// The node has another address, or none.
    AddressChanged {
        /// The address from now on.
        address: Option<IpAddr>,
    },
    /// A datagram or an exchange was dropped.
    Dropped {
        /// Its source address.
        from: IpAddr,
        /// Why.
        reason: Reason,
    },
    /// The node has ended.
    ShutDown,
}

/// What differs between the options of two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Times. These are those of the other node.
    Times {
        /// (2 × `tr_count` - 1) × `tr_interval`.
        lease: Duration,
        /// Its `renew_timeout`.
        renew_timeout: Duration,
        /// Its `token_pass_timeout`.
        token_pass_timeout: Duration,
    },
    /// What computes, or what decides.
    Policy,
    /// It announces a lease that no node may have.
    Lease,
}

/// What has become of a token that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// The node leads with it.
    Taken,
    /// The node led already: one token is left of two.
    Merged,
    /// The node has given a stronger one away, which lives on.
    Absorbed,
}

/// Why a pass is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Nobody listens there.
    Refused,
    /// The candidate has reset the connection.
    Reset,
    /// The candidate has ended its side before it could have the token.
    Ended,
    /// The candidate sent what is not due.
    Unexpected,
    /// `token_pass_timeout` was over.
    TimedOut,
    /// There was no way to connect.
    Unreachable,
    /// The network has changed.
    NetworkChanged,
}

impl Failure {
    /// What happened, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Refused => "nobody listens there",
            Self::Reset => "the candidate has reset the connection",
            Self::Ended => "the candidate has ended the connection too early",
            Self::Unexpected => "the candidate sent what was not due",
            Self::TimedOut => "the time for a pass was over",
            Self::Unreachable => "there was no way to connect",
            Self::NetworkChanged => "the network has changed",
        }
    }
}
