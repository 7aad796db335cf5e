//! The rules that a step or a state may break, from `docs/protocol.md`.

use std::time::Duration;

use ring_codec::lab2::Token;
use thiserror::Error;

use crate::notation;

/// A broken rule. Nodes are given by their indexes, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Breach {
    /// Section 5, 1: two nodes hold equal tokens.
    #[error("{} both hold {}", both(.nodes), show(.token))]
    EqualTokens { nodes: [usize; 2], token: Token },
    /// Section 2: a chain is offered to only one successor, and its giver no longer uses it.
    #[error("{} may both use the chain of {}", both(.nodes), show(.token))]
    SharedChain { nodes: [usize; 2], token: Token },
    /// Section 5, 6: a fencing token names one tenure.
    #[error("{} begins a second tenure {}", name(*.node), show(.token))]
    SecondTenure {
        node: usize,
        /// The fencing token of the earlier tenure.
        token: Token,
    },
    /// Section 5, 6: the tenures of a node only grow.
    #[error("the tenures of {} go back from {} to {}", name(*.node), show(.before), show(.after))]
    TenureWentBack {
        node: usize,
        /// The earlier tenure.
        before: Token,
        /// The later tenure.
        after: Token,
    },
    /// Section 2: the state on which a frame depends is stored before the frame leaves.
    #[error("{} tells of {} before it is stored", name(*.node), show(.token))]
    NotStored { node: usize, token: Token },
    /// Section 2: a state that could not be stored is not in force.
    #[error("{} holds {}, which is not stored", name(*.node), show(.token))]
    HeldUnstored { node: usize, token: Token },
    /// Section 4: a candidate has the progress `known.progress` + 1.
    #[error("{} stands with {}", name(*.node), show(.candidate))]
    WrongCandidate { node: usize, candidate: Token },
    /// Section 2: the progress of a created token is not below the clock.
    #[error("{} generates {} below the clock", name(*.node), show(.token))]
    BelowClock { node: usize, token: Token },
    /// Section 5, 7: a frame is answered with at most two frames.
    #[error("{} answers one frame with {frames}", name(*.node))]
    TooManyReplies { node: usize, frames: usize },
    /// Section 4: an OWNER keeps its token against a weaker one.
    #[error("{} gives its token up for the weaker {}", name(*.node), show(.to))]
    Yielded { node: usize, to: Token },
    /// Section 4: an OWNER gives up its token for a stronger one.
    #[error("{} keeps its token against the stronger {}", name(*.node), show(.against))]
    Stayed { node: usize, against: Token },
    /// Section 4: a candidate gives way to a stronger one.
    #[error("{} still stands against the stronger {}", name(*.node), show(.candidate))]
    StoodAgainst { node: usize, candidate: Token },
    /// Section 4: an announced state begins only when the frame has left.
    #[error("{} enters a state that no frame has announced", name(*.node))]
    Unannounced { node: usize },
    /// Section 4: an OWNER that could send no heartbeat for WAITER_TIMEOUT has no token.
    #[error("{} holds a token that its lease has run out for", name(*.node))]
    WithoutLease { node: usize },
    /// Section 1: a frame that is to be dropped changes nothing and is not answered.
    #[error("{} heeds a frame that is no good", name(*.node))]
    NotDropped { node: usize },
    /// Two nodes may use a token, although no fault has happened.
    #[error("{} may both use a token", both(.nodes))]
    TwoOwners { nodes: [usize; 2] },
    /// "Grades": two nodes have a quorum at the same time.
    #[error("{} have a quorum", both(.nodes))]
    TwoQuorums { nodes: [usize; 2] },
    /// "Backing": a node with a quorum loses its token to another.
    #[error("{} loses {}, for which it has a quorum", name(*.node), show(.token))]
    QuorumLost { node: usize, token: Token },
    /// Section 5, 2: there is no single owner this long after the end of the faults.
    #[error("{after:?} after the faults there is no single owner")]
    NotRecovered { after: Duration },
    /// Section 5, 3: this node has wanted the token without success.
    #[error("{} wants the token and starves", name(*.node))]
    NotServed { node: usize },
    /// Section 5, 5: tables differ.
    #[error("the tables of {} differ", both(.nodes))]
    TablesDiffer { nodes: [usize; 2] },
    /// Section 5, 2: the owner only hands the token over, and no node can use it.
    #[error("nobody can use the token")]
    OutOfUse,
    /// An idle ring has no end of frames and timeouts at one time.
    #[error("there is no end of frames and time-outs at one time")]
    Busy,
}

fn name(at: usize) -> String {
    notation::name(notation::mac(at))
}

fn both([a, b]: &[usize; 2]) -> String {
    format!("{} and {}", name(*a), name(*b))
}

fn show(token: &Token) -> String {
    notation::token(*token)
}
