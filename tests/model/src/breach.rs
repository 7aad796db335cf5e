//! The rules that a step or a state may break, from `docs/reference/lab2/README.md`.

use std::time::Duration;

use ring_codec::lab2::Token;
use thiserror::Error;

use crate::notation;

/// A broken rule. Nodes are given by their indexes, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Breach {
    /// `docs/reference/lab2/promises.md Q1`: two nodes hold equal tokens.
    #[error("{} both hold {}", both(.nodes), show(.token))]
    EqualTokens { nodes: [usize; 2], token: Token },
    /// `docs/reference/lab2/states.md T4`: a giver offers its chain to only one successor, and then does not use the
    /// chain.
    #[error("{} may both use the chain of {}", both(.nodes), show(.token))]
    SharedChain { nodes: [usize; 2], token: Token },
    /// `docs/reference/lab2/promises.md Q6`: a fencing token names only one tenure.
    #[error("{} begins a second tenure {}", name(*.node), show(.token))]
    SecondTenure {
        node: usize,
        /// The fencing token of the earlier tenure.
        token: Token,
    },
    /// `docs/reference/lab2/promises.md Q6`: the fencing tokens of a node only grow.
    #[error("the fencing tokens of {} go back from {} to {}", name(*.node), show(.before), show(.after))]
    TenureWentBack {
        node: usize,
        /// The earlier tenure.
        before: Token,
        /// The later tenure.
        after: Token,
    },
    /// `docs/reference/lab2/states.md D1`: before a node sends a frame, it stores the state on which the frame depends.
    #[error("{} sends {} before it is stored", name(*.node), show(.token))]
    NotStored { node: usize, token: Token },
    /// `docs/reference/lab2/states.md D2`: a node does not act on a state that it could not store.
    #[error("{} holds {}, which is not stored", name(*.node), show(.token))]
    HeldUnstored { node: usize, token: Token },
    /// `docs/reference/lab2/states.md T6`: the progress of a candidate is `known.progress` + 1.
    #[error("{} stands with {}, which is not one above its known progress", name(*.node), show(.candidate))]
    WrongCandidate { node: usize, candidate: Token },
    /// `docs/reference/lab2/states.md T7`: the progress of a created token is not below the clock.
    #[error("{} generates {} below the clock", name(*.node), show(.token))]
    BelowClock { node: usize, token: Token },
    /// `docs/reference/lab2/promises.md Q7`: a node answers a frame with at most two frames.
    #[error("{} answers one frame with {frames}", name(*.node))]
    TooManyReplies { node: usize, frames: usize },
    /// `docs/reference/lab2/states.md O6`: an OWNER keeps its token when it meets a weaker token.
    #[error("{} gives its token up for the weaker {}", name(*.node), show(.to))]
    Yielded { node: usize, to: Token },
    /// `docs/reference/lab2/states.md O5`: an OWNER gives up its token when it meets a stronger token.
    #[error("{} keeps its token against the stronger {}", name(*.node), show(.against))]
    Stayed { node: usize, against: Token },
    /// `docs/reference/lab2/states.md C2`: a candidate gives way to a stronger candidate.
    #[error("{} still stands against the stronger {}", name(*.node), show(.candidate))]
    StoodAgainst { node: usize, candidate: Token },
    /// `docs/reference/lab2/states.md R7`: before a node enters an announced state, it sends the announcement.
    #[error("{} enters a state that no frame has announced", name(*.node))]
    Unannounced { node: usize },
    /// `docs/reference/lab2/states.md O4`: an OWNER that could send no heartbeat for WAITER_TIMEOUT has no token.
    #[error("{} holds a token although its lease has expired", name(*.node))]
    WithoutLease { node: usize },
    /// `docs/reference/lab2/states.md R4`: a node does not answer a frame that it must drop, and the frame changes
    /// nothing.
    #[error("{} acts on a frame that it must drop", name(*.node))]
    NotDropped { node: usize },
    /// Two nodes can use a token at the same time, although no fault occurred.
    #[error("{} may both use a token", both(.nodes))]
    TwoOwners { nodes: [usize; 2] },
    /// Section "Grades": two nodes have a quorum at the same time.
    #[error("{} have a quorum", both(.nodes))]
    TwoQuorums { nodes: [usize; 2] },
    /// Section "Backing": a node that has a quorum loses its token to another node.
    #[error("{} loses {}, for which it has a quorum", name(*.node), show(.token))]
    QuorumLost { node: usize, token: Token },
    /// `docs/reference/lab2/promises.md Q2`: when the time `after` has passed since the end of the faults, the ring
    /// does not have exactly one owner.
    #[error("{after:?} after the faults there is no single owner")]
    NotRecovered { after: Duration },
    /// `docs/reference/lab2/promises.md Q3`: this node wants the token and does not get it.
    #[error("{} wants the token and does not get it", name(*.node))]
    NotServed { node: usize },
    /// `docs/reference/lab2/promises.md Q5`: the tables of two nodes differ.
    #[error("the tables of {} differ", both(.nodes))]
    TablesDiffer { nodes: [usize; 2] },
    /// `docs/reference/lab2/promises.md Q2`: the owners hand the token over again and again, and no node can use it.
    #[error("no node can use the token")]
    OutOfUse,
    /// `docs/reference/lab2/locks.md I17`: two programs hold a lock of one name, and one of the locks is exclusive.
    #[error("programs of {} and {} hold the lock {lock} at the same time", name(.nodes[0]), name(.nodes[1]))]
    TwoHolders {
        nodes: [usize; 2],
        lock: &'static str,
    },
    /// `docs/reference/lab2/locks.md I20`: the fencing tokens of a name grow with each exclusive lock.
    #[error("a program of {} gets the fencing token {} after {}", name(*.node), show(.after), show(.before))]
    FenceWentBack {
        node: usize,
        /// The fencing token of the earlier lock.
        before: Token,
        /// The fencing token of the later lock.
        after: Token,
    },
    /// `docs/reference/lab2/locks.md I29`: a lock of grade quorum is granted only after a majority has stored its held
    /// record.
    #[error("a program of {} gets its lock, but only {stored} nodes have stored the lock", name(*.node))]
    LockNotStored { node: usize, stored: usize },
    /// `docs/reference/lab2/locks.md I37`: while a majority lives, a program keeps its lock.
    #[error("a program of {} loses its lock", name(*.node))]
    LockLost { node: usize },
    /// `docs/reference/lab2/locks.md I19`: after the faults, each waiting program gets its lock or is refused.
    #[error("a program of {} waits for its lock", name(*.node))]
    LockNotServed { node: usize },
    /// `docs/reference/lab2/locks.md I15`: after the end of all programs, no table has a record.
    #[error("{} still has a record of a lock", name(*.node))]
    LockRemains { node: usize },
    /// In an idle ring, frames and timeouts follow each other endlessly while no time passes.
    #[error("frames and timeouts at one time are endless")]
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
