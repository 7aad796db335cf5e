//! Inputs of a node: requests of clients, and outcomes of database jobs.

use super::Outcome;

/// An input that the caller gives to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A job has ended. The node ignores an outcome of a job that it does not wait for.
    Done {
        /// The job's id.
        job: u64,
        /// The outcome of its transaction.
        outcome: Outcome,
    },
    /// A client wants to read or write the table of posts. The request waits for the token, and gets one
    /// [answer](super::Event::Answered).
    Request(Request),
    /// Whether at least one client listens for new posts. If so, each visit of the token reads the new posts.
    Listeners(bool),
    /// The node passes on a token that it holds, and then ends.
    ShutDown,
}

/// A client's request. The caller keeps its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The id, chosen by the caller and never used twice.
    pub id: u64,
    /// Whether the request writes a post.
    pub is_post: bool,
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestAnswer {
    /// The request was committed under this sequence.
    Done {
        /// The token's sequence.
        sequence: u64,
    },
    /// The token did not arrive in time: nothing was written.
    Token,
    /// The database did not answer: nothing was written.
    Database,
    /// The database did not confirm the commit in time: the post may have been written.
    Unknown,
    /// Too many requests wait: nothing was written.
    Crowded,
}

impl RequestAnswer {
    /// Returns the word of the error, or `None` for a request that was carried out.
    pub const fn error(self) -> Option<&'static str> {
        match self {
            Self::Done { .. } => None,
            Self::Token => Some("token"),
            Self::Database => Some("database"),
            Self::Unknown => Some("unknown"),
            Self::Crowded => Some("crowded"),
        }
    }
}
