//! The promises that a step or a state may break, from `docs/token-service/protocol/promises.md`.

use std::time::Duration;

use thiserror::Error;

/// A broken promise. Nodes are given by their indexes, servers first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Breach {
    /// Q1: an ended session still holds the token.
    #[error("at s{node} the token is held by {session}, which is no session")]
    Sessions { node: usize, session: i32 },
    /// Q2 and Q3: two live clients hold the token, and do not share it.
    #[error("{} hold the token and do not share it", both(.nodes))]
    Exclusion { nodes: [usize; 2] },
    /// Q4: fencing numbers grow.
    #[error(
        "c{node} is granted the token with the fencing number {fence}, which does not exceed {after}"
    )]
    Fencing {
        node: usize,
        fence: u128,
        /// The largest earlier number. The new number must be larger.
        after: u128,
    },
    /// Q5: a server that is not READY grants no token.
    #[error("s{node} grants a token although it is not READY")]
    GrantedEarly { node: usize },
    /// Q6: the number of answers to one input has a limit.
    #[error("node {node} answers one input with {datagrams} datagrams")]
    TooMuch { node: usize, datagrams: usize },
    /// An unlisted loss: an update is lost although a client saw its confirmation or grant, and no server lost its
    /// state.
    #[error("c{node} is shown update {shows} after {after}")]
    Lost {
        node: usize,
        /// The update that the client receives.
        shows: u8,
        /// The client must receive this update or a later update.
        after: u8,
    },
    /// Promises 7 and 8: this client did not get the token within this time after the faults ended.
    #[error("c{node} did not get the token within {after:?} after the faults")]
    NotServed { node: usize, after: Duration },
    /// Datagrams and timeouts follow each other endlessly while no time passes.
    #[error("datagrams and timeouts at one time are endless")]
    Busy,
}

/// Formats the clients `c2 and c3`.
fn both([a, b]: &[usize; 2]) -> String {
    format!("c{a} and c{b}")
}
