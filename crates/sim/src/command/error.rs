//! The errors of `ring-sim`.

use std::io;
use std::path::PathBuf;

use ring_recording::ReadError;
use thiserror::Error;

use super::escape::escape;

/// An error that ends `ring-sim`.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Error {
    /// A file or directory cannot be written.
    #[error("cannot write {}: {source}; give a directory that can be written", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A schedule cannot be read.
    #[error("cannot read {}: {source}; give a file that ring-sim has written", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file is not a valid schedule.
    #[error("{} is not a schedule: {reason}", path.display())]
    Schedule { path: PathBuf, reason: String },
    /// A file is not a recording.
    #[error("cannot replay {}: {}", path.display(), escape(&reason.to_string()))]
    Recording { path: PathBuf, reason: ReadError },
    /// An option does not apply to the simulated system.
    #[error("{0}")]
    Usage(String),
    /// Standard output cannot be written.
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
    /// A schedule cannot be serialized.
    #[error("cannot serialize a schedule as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// Returns the exit code of the process. `ring-sim --help` lists all exit codes.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Schedule { .. } | Self::Recording { .. } | Self::Usage(_) => 2,
            Self::Write { .. } | Self::Read { .. } | Self::Print(_) | Self::Json(_) => 3,
        }
    }
}
