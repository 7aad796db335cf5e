//! Why `ringctl` could not do what it was asked, in words, each with an exit code.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::control::CONTROL_DIR;

/// Why `ringctl` gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No daemon's socket is found.
    #[error(
        "no ringd runs on this machine, or its socket is not in {CONTROL_DIR}: start one with \
         sudo ringd IFACE, or give its socket with --socket PATH"
    )]
    NoneRuns,
    /// There are several daemons.
    #[error("several ringd run on this machine: choose one with -i {}", .interfaces.join(" or -i "))]
    Several {
        /// Their interfaces.
        interfaces: Vec<String>,
    },
    /// The directory of sockets cannot be read.
    #[error("cannot read {CONTROL_DIR}: {0}")]
    Directory(io::Error),
    /// Nobody is reached at the socket.
    #[error("cannot reach ringd at {}: {source}; {}", path.display(), advice(.source))]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No reply, or half of one.
    #[error("no answer from ringd at {}: {source}", path.display())]
    Exchange {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The reply is none that this version knows.
    #[error("ringd at {} answered what this ringctl does not understand ({source}): are both of \
        one version?", path.display())]
    Reply {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The reply is one to another request.
    #[error("ringd answered something else than it was asked: {0}")]
    Unexpected(String),
    /// The daemon answered with an error.
    #[error("ringd says: {0}")]
    Refused(String),
}

impl Error {
    /// The process's exit code, as `ringctl --help` lists them.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Exchange { .. } | Self::Reply { .. } | Self::Unexpected(_) | Self::Refused(_) => {
                1
            }
            Self::NoneRuns | Self::Directory(_) | Self::Connect { .. } => 3,
            Self::Several { .. } => 4,
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "try sudo, or join the socket's group",
        io::ErrorKind::WouldBlock => "it is busy or stopped",
        _ => "is it running? Start it with sudo ringd IFACE",
    }
}
