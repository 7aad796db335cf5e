//! Why a run was not made, or not kept, in words.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why `ring-sim` gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be written.
    #[error("cannot write {}: {source}; give a directory that can be written", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A schedule cannot be read.
    #[error("cannot read {}: {source}; give a file that ring-sim has written", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system, or the reader of JSON, says.
        source: io::Error,
    },
    /// A schedule that no world can be made from.
    #[error("{} is not a schedule: {what}", path.display())]
    Schedule {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// An option means nothing to the system that is simulated.
    #[error("{0}")]
    Usage(String),
    /// The output takes nothing.
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
    /// A schedule cannot be put into words.
    #[error("cannot write a schedule as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// The process's exit code, as `ring-sim --help` lists them.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Schedule { .. } | Self::Usage(_) => 2,
            Self::Write { .. } | Self::Read { .. } | Self::Print(_) | Self::Json(_) => 3,
        }
    }
}
