//! What a node reports.

use std::fmt;

use super::Version;

/// Why a version was not fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection closed before the note was complete.
    Closed,
    /// It took longer than a transfer may take.
    TimedOut,
    /// The bytes are not a note.
    Malformed,
    /// The checksum is wrong.
    Corrupt,
    /// The disk did not take it.
    NotStored,
}

/// Something that a node reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The node shows another version.
    Shown(Version),
    /// It served its note.
    Served(Version),
    /// It did not get a version.
    Failed(Version, Failure),
    /// It closed a connection that asked for nothing in time, or one too many.
    Refused,
    /// What was to be written was dropped.
    Dropped,
}

impl Event {
    /// The key of its counter.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Shown(_) => "shown",
            Self::Served(_) => "served",
            Self::Failed(_, Failure::Closed) => "fetch_closed",
            Self::Failed(_, Failure::TimedOut) => "fetch_timed_out",
            Self::Failed(_, Failure::Malformed) => "fetch_malformed",
            Self::Failed(_, Failure::Corrupt) => "fetch_corrupt",
            Self::Failed(_, Failure::NotStored) => "fetch_not_stored",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown(version) => write!(f, "version {version} is shown"),
            Self::Served(version) => write!(f, "version {version} was served"),
            Self::Failed(version, failure) => {
                let why = match failure {
                    Failure::Closed => "the connection closed",
                    Failure::TimedOut => "it took too long",
                    Failure::Malformed => "what came is no note",
                    Failure::Corrupt => "its checksum is wrong",
                    Failure::NotStored => "it cannot be stored",
                };
                write!(f, "version {version} was not fetched: {why}")
            }
            Self::Refused => f.write_str("a connection was refused"),
            Self::Dropped => f.write_str("a version was not written"),
        }
    }
}
