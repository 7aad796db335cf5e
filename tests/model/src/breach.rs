//! What must never happen, as `docs/protocol.md` has it.

use std::time::Duration;

use ring_codec::lab2::Token;
use thiserror::Error;

use crate::notation;

/// A rule that was broken. Nodes are told by their places, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs, reason = "fields that say themselves what they are")]
pub enum Breach {
    /// Section 5, 1: two nodes hold equal tokens.
    #[error("{} both hold {}", both(.nodes), show(.token))]
    EqualTokens { nodes: [usize; 2], token: Token },
    /// Section 2: a chain is offered to one successor only, and its giver uses it no more.
    #[error("{} may both use the chain of {}", both(.nodes), show(.token))]
    SharedChain { nodes: [usize; 2], token: Token },
    /// Section 5, 6: a fencing token names one tenure.
    #[error("{} begins a second tenure {}", name(*.node), show(.token))]
    SecondTenure {
        node: usize,
        /// The fencing token that was used before.
        token: Token,
    },
    /// Section 5, 6: a node's tenures only grow.
    #[error("the tenures of {} go back from {} to {}", name(*.node), show(.before), show(.after))]
    TenureWentBack {
        node: usize,
        /// The tenure before.
        before: Token,
        /// The one that was begun after it.
        after: Token,
    },
    /// Section 2: what a frame depends on is stored before it leaves.
    #[error("{} tells of {} before it is stored", name(*.node), show(.token))]
    NotStored { node: usize, token: Token },
    /// Section 2: what could not be stored has not happened.
    #[error("{} holds {}, which is not stored", name(*.node), show(.token))]
    HeldUnstored { node: usize, token: Token },
    /// Section 4: a candidate is `known.progress` + 1, and no more.
    #[error("{} stands with {}", name(*.node), show(.candidate))]
    WrongCandidate { node: usize, candidate: Token },
    /// Section 2: a generated token's progress is not below the clock.
    #[error("{} generates {} below the clock", name(*.node), show(.token))]
    BelowClock { node: usize, token: Token },
    /// Section 5, 7: a frame is answered with two frames at the most.
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
    /// Section 4: what a frame announces is true once that frame has left, not before.
    #[error("{} enters a state that no frame has announced", name(*.node))]
    Unannounced { node: usize },
    /// Section 4: an OWNER that could send no heartbeat for WAITER_TIMEOUT has no token.
    #[error("{} holds a token that its lease has run out for", name(*.node))]
    WithoutLease { node: usize },
    /// Section 1: a frame that is to be dropped changes nothing and is not answered.
    #[error("{} heeds a frame that is no good", name(*.node))]
    NotDropped { node: usize },
    /// Nothing went wrong, and still two nodes may use a token.
    #[error("{} may both use a token", both(.nodes))]
    TwoOwners { nodes: [usize; 2] },
    /// "Grades": two nodes have a quorum at one time.
    #[error("{} have a quorum", both(.nodes))]
    TwoQuorums { nodes: [usize; 2] },
    /// "Backing": a node that has a quorum loses its token to another.
    #[error("{} loses {}, for which it has a quorum", name(*.node), show(.token))]
    QuorumLost { node: usize, token: Token },
    /// Section 5, 2: there is no single owner this long after the faults have ended.
    #[error("{after:?} after the faults there is no single owner")]
    NotRecovered { after: Duration },
    /// Section 5, 3: this node has wanted the token and not got it.
    #[error("{} wants the token and starves", name(*.node))]
    NotServed { node: usize },
    /// Section 5, 5: tables differ.
    #[error("the tables of {} differ", both(.nodes))]
    TablesDiffer { nodes: [usize; 2] },
    /// Section 5, 2: there is an owner, but it only passes the token on and nobody can use it.
    #[error("nobody can use the token")]
    OutOfUse,
    /// An idle ring has no end of things to do at one and the same time.
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
