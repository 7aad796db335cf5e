//! The promises that a step or a state may break, from `docs/ftn.md`, section 7.

use std::time::Duration;

use thiserror::Error;

/// A broken promise. Nodes are given by their indexes, servers first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Breach {
    /// 1: a session that has ended has power over the token.
    #[error("at s{node} {session} holds the token, which is no session")]
    Sessions { node: usize, session: i32 },
    /// 2 and 3: two live clients hold the token without sharing it.
    #[error("{} hold the token and do not share it", both(.nodes))]
    Exclusion { nodes: [usize; 2] },
    /// 4: fencing numbers grow.
    #[error("c{node} is granted the token with {fence} after {after}")]
    Fencing {
        node: usize,
        fence: u128,
        /// The largest number that it had to exceed.
        after: u128,
    },
    /// 5: a server that is not READY grants nothing.
    #[error("s{node} grants and is not READY")]
    GrantedEarly { node: usize },
    /// 6: the number of answers to one input is bounded.
    #[error("node {node} answers one input with {datagrams} datagrams")]
    TooMuch { node: usize, datagrams: usize },
    /// Section 8: an update that was confirmed or shown is lost, although no server was.
    #[error("c{node} is shown update {shows} after {after}")]
    Lost {
        node: usize,
        /// The update that it shows.
        shows: u8,
        /// The update that it must show, or a later one.
        after: u8,
    },
    /// 7 and 8: this client has not got the token this long after the end of the faults.
    #[error("{after:?} after the faults c{node} was not granted the token")]
    NotServed { node: usize, after: Duration },
    /// There is no end of datagrams and timeouts at one time.
    #[error("there is no end of datagrams and time-outs at one time")]
    Busy,
}

/// Formats the clients `c2 and c3`.
fn both([a, b]: &[usize; 2]) -> String {
    format!("c{a} and c{b}")
}
