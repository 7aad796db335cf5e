//! Errors that stop a server at its start, each with an exit code.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

use ring_client::token::ServersError;
use ring_host::SystemError;
use thiserror::Error;

use crate::system;

/// The error that stops a server at its start. The text of the error names the failure, the cause and a remedy.
#[derive(Debug, Error)]
pub(super) enum Error {
    /// The list of servers cannot be used.
    #[error("{0}; give a list of HOST:PORT lines with --servers FILE")]
    List(#[from] ServersError),
    /// The address of this server cannot be used.
    #[error("cannot use {address}, the address of server {index} in {}: {}", list.display(), hint(.source))]
    Bind {
        address: SocketAddr,
        index: usize,
        list: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A different daemon locked the state file.
    #[error(
        "cannot use {}: another ringd uses it, server {index} of this list or of another list; give the server of \
         another list its own --state-dir DIR and --control PATH", path.display()
    )]
    StateTaken { path: PathBuf, index: usize },
    /// The state is still in the directory of an earlier version.
    #[error(
        "cannot start server {index}: its state is still in {}, the place of earlier versions; stop all servers of \
         this machine, then mv {} {}", old.display(), old.display(), new.display()
    )]
    StateMoved {
        /// The state file of the earlier version.
        old: PathBuf,
        new: PathBuf,
        index: usize,
    },
    #[error(transparent)]
    Common(system::Error),
}

impl Error {
    /// Returns a function for `map_err`. The function converts a failure to open the state file of server `index`.
    pub(super) fn state_error(index: usize) -> impl FnOnce(system::Error) -> Self {
        move |error| match error {
            system::Error::StateLocked { path } => Self::StateTaken { path, index },
            other => Self::Common(other),
        }
    }
}

impl SystemError for Error {
    fn exit_code(&self) -> u8 {
        match self {
            Self::List(_) => 3,
            Self::Bind { source, .. } => match source.kind() {
                ErrorKind::AddrNotAvailable => 4,
                ErrorKind::PermissionDenied => 5,
                ErrorKind::AddrInUse => 6,
                _ => 1,
            },
            Self::StateTaken { .. } => 7,
            Self::StateMoved { .. } => 9,
            Self::Common(error) => error.exit_code(),
        }
    }
}

/// Describes the problem of an address, and a remedy.
fn hint(source: &io::Error) -> String {
    let advice = match source.kind() {
        ErrorKind::AddrNotAvailable => {
            "this machine does not have it; give the index of a line that names this machine with --index N"
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 need CAP_NET_BIND_SERVICE; grant it, or give the server another port in the list"
        }
        ErrorKind::AddrInUse => {
            "another process uses it, perhaps this server; find the process with ss -ulpn"
        }
        _ => return source.to_string(),
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::path::PathBuf;

    use super::Error;
    use crate::system;
    use ring_host::SystemError;

    #[test]
    fn each_error_says_what_to_do_and_has_its_exit_code() {
        let bind = |kind| Error::Bind {
            address: ([192, 0, 2, 1], 7301).into(),
            index: 2,
            list: PathBuf::from("/etc/ringd/ftn.servers"),
            source: io::Error::from(kind),
        };
        let path = || PathBuf::from("/nowhere/ftn-2.state");
        let locked = system::Error::StateLocked { path: path() };
        let newer = system::Error::StateNewer {
            path: path(),
            format: 2,
        };
        let cases = [
            (bind(ErrorKind::AddrNotAvailable), 4, "--index N"),
            (bind(ErrorKind::PermissionDenied), 5, "CAP_NET_BIND_SERVICE"),
            (
                bind(ErrorKind::AddrInUse),
                6,
                "server 2 in /etc/ringd/ftn.servers",
            ),
            (bind(ErrorKind::OutOfMemory), 1, "192.0.2.1:7301"),
            (
                Error::StateMoved {
                    old: path(),
                    new: PathBuf::from("/new/ftn-2.state"),
                    index: 2,
                },
                9,
                "mv /nowhere/ftn-2.state /new/ftn-2.state",
            ),
            (Error::state_error(2)(locked), 7, "--control PATH"),
            (Error::state_error(2)(newer), 9, "run that version"),
        ];
        for (error, code, advice) in cases {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
