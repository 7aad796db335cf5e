//! What a node is asked for.

use super::Outcome;

/// What is asked of a node, and what has come of its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A job has ended. An answer for a job that is not waited for does nothing.
    Done {
        /// Which.
        job: u64,
        /// What has come of it.
        outcome: Outcome,
    },
    /// A client wants the table of posts read or written: it waits for the token, and is
    /// [answered](super::Event::Answered) once.
    Request(Request),
    /// Whether anybody listens to new posts: then each visit of the token reads them.
    Listeners(bool),
    /// The node is to pass on a token that it holds, and end.
    ShutDown,
}

/// A client's request, whose content the caller keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the caller, not used twice.
    pub id: u64,
    /// Whether it writes.
    pub is_post: bool,
}

/// What has become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It was done and committed with this sequence.
    Done {
        /// The token's.
        sequence: u64,
    },
    /// The token was not here in time: nothing was written.
    Token,
    /// The database is gone: nothing was written.
    Database,
    /// The commit was not answered in time: it may have been written.
    Unknown,
    /// Too many requests wait: nothing was written.
    Crowded,
}

impl Answer {
    /// The word of an error; `None`: it is none.
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
