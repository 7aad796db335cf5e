//! Why a server does not start, in words, each with an exit code: what other systems do not know of.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

use ring_client::token::ServersError;
use ring_host::SystemError;
use thiserror::Error;

use crate::system;

/// Why a server does not start. The text is a sentence for the operator: what failed, on what, what to do.
#[derive(Debug, Error)]
pub(super) enum Error {
    /// The list of servers is of no use.
    #[error("{0}; give a list of HOST:PORT lines: --servers FILE")]
    List(#[from] ServersError),
    /// The address of this server cannot be used.
    #[error("cannot use {address}, the address of server {index} in {}: {}", list.display(), hint(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The server's index.
        index: usize,
        /// The list.
        list: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another daemon holds the state file.
    #[error(
        "another ringd holds {}: server {index} of this list or of another; give that of another list \
         its own --state-dir DIR and --control PATH", path.display()
    )]
    StateTaken {
        /// The file.
        path: PathBuf,
        /// The server's index.
        index: usize,
    },
    /// An earlier version has kept the state in another directory.
    #[error(
        "the state of server {index} is still in {}, where earlier versions kept it: stop all servers of this machine, \
         then mv {} {}", old.display(), old.display(), new.display()
    )]
    StateMoved {
        /// The file of the earlier version.
        old: PathBuf,
        /// The file of this one.
        new: PathBuf,
        /// The server's index.
        index: usize,
    },
    /// What all systems have in common.
    #[error(transparent)]
    Common(system::Error),
}

impl Error {
    /// For `map_err`: the state file of server `index` cannot be opened.
    pub(super) fn of_state(index: usize) -> impl FnOnce(system::Error) -> Self {
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

/// What is wrong with an address, and what to do.
fn hint(source: &io::Error) -> String {
    let advice = match source.kind() {
        ErrorKind::AddrNotAvailable => {
            "it is not this machine's: give the index of a line that names this machine, --index N"
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 need a right: give the server another in the list, or CAP_NET_BIND_SERVICE"
        }
        ErrorKind::AddrInUse => {
            "another process has it, maybe this server already: ss -ulpn names it"
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
    fn each_says_what_to_do_and_has_its_code() {
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
            (Error::of_state(2)(locked), 7, "--control PATH"),
            (Error::of_state(2)(newer), 9, "run that one"),
        ];
        for (error, code, advice) in cases {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
