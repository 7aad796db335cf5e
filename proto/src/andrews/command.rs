//! Inputs of a node: requests of clients, and outcomes of database jobs.

use super::Outcome;

/// An input that the caller gives to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A job has ended. The node ignores the outcome of a job that it does not know.
    Done {
        /// The job's id.
        job: u64,
        /// The outcome of the job's transaction.
        outcome: Outcome,
    },
    /// A client wants to read or write the table of posts. The request waits for the token, and gets one
    /// [answer](super::Event::Answered).
    Request(Request),
    /// Whether at least one client listens for new posts. If a client listens, the node reads new posts at each visit
    /// of the token.
    Listeners(bool),
    /// The node ends. If the node holds the token, the node first passes the token to its successor.
    ShutDown,
}

/// A client's request. The caller keeps the content of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The id of the request. The caller never uses an id twice.
    pub id: u64,
    /// Whether the request writes a post.
    pub is_post: bool,
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestAnswer {
    /// The request was committed.
    Done {
        /// The token's sequence.
        sequence: u64,
    },
    /// The token did not arrive in time. No post was written.
    Token,
    /// The database did not answer, or the transaction failed. No post was written.
    Database,
    /// The database did not confirm the commit. The database may still have written the post.
    Unknown,
    /// Too many requests wait. No post was written.
    Crowded,
}

impl RequestAnswer {
    /// Returns the error as one word, or `None` if the request was carried out.
    pub const fn error(self) -> Option<&'static str> {
        // The page's server sends these words to browsers, so they are part of its interface.
        match self {
            Self::Done { .. } => None,
            Self::Token => Some("token"),
            Self::Database => Some("database"),
            Self::Unknown => Some("unknown"),
            Self::Crowded => Some("crowded"),
        }
    }
}
