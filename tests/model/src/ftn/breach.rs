//! What must never happen, as `docs/ftn.md`, section 7, has it.

use std::fmt;
use std::time::Duration;

/// A promise that was broken. Nodes are told by their places, servers first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Breach {
    /// 1: a session that was ended has power over the token.
    Sessions {
        /// The server.
        node: usize,
        /// Who holds it there.
        session: i32,
    },
    /// 2 and 3: two live clients hold the token, and not both share it.
    Exclusion {
        /// The clients.
        nodes: [usize; 2],
    },
    /// 4: fencing numbers grow.
    Fencing {
        /// Who was granted the token.
        node: usize,
        /// With which number.
        fence: u128,
        /// The largest that it had to exceed.
        after: u128,
    },
    /// 5: a server that is not READY grants nothing.
    GrantedEarly {
        /// The server.
        node: usize,
    },
    /// 6: the answer to one input is bounded.
    TooMuch {
        /// Who said it.
        node: usize,
        /// How many datagrams.
        datagrams: usize,
    },
    /// Section 8: an update that was confirmed, or seen, is lost, and no server with it.
    Lost {
        /// Who was granted the token.
        node: usize,
        /// The update that it shows.
        shows: u8,
        /// The one that it must show, or a later one.
        after: u8,
    },
    /// 7 and 8: this client was not granted the token so long after the faults had ended.
    NotServed {
        /// The client.
        node: usize,
        /// How long after.
        after: Duration,
    },
    /// There is no end of things to do at one and the same time.
    Busy,
}

/// `s0` is a server, `c2` the client at place 2.
fn both([a, b]: &[usize; 2]) -> String {
    format!("c{a} and c{b}")
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sessions { node, session } => {
                write!(
                    f,
                    "at s{node} {session} holds the token, which is no session"
                )
            }
            Self::Exclusion { nodes } => {
                write!(f, "{} hold the token and do not share it", both(nodes))
            }
            Self::Fencing { node, fence, after } => {
                write!(f, "c{node} is granted the token with {fence} after {after}")
            }
            Self::GrantedEarly { node } => write!(f, "s{node} grants and is not READY"),
            Self::TooMuch { node, datagrams } => {
                write!(
                    f,
                    "node {node} answers one input with {datagrams} datagrams"
                )
            }
            Self::Lost { node, shows, after } => {
                write!(f, "c{node} is shown update {shows} after {after}")
            }
            Self::NotServed { node, after } => {
                write!(
                    f,
                    "{after:?} after the faults c{node} was not granted the token"
                )
            }
            Self::Busy => write!(f, "there is no end of datagrams and time-outs at one time"),
        }
    }
}
