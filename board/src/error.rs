//! Errors at the start of a node, each with an exit code.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Display, Path, PathBuf};

use ring_host::SystemError;
use thiserror::Error;

use crate::options::{DEFAULT_DATABASE, EARLIER_DATABASE};

/// The reason why a node does not start. The text tells the operator the failed action, the cause and the remedy.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// An address of this node cannot be used.
    #[error("cannot use {address} for {what} (node {id} in {}): {}", list.display(), hint(.source))]
    Bind {
        address: SocketAddr,
        /// The protocol that uses the address.
        what: &'static str,
        /// The node's id.
        id: u32,
        /// The file of the list.
        list: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The database is in the folder where earlier versions kept it.
    #[error(
        "the database is still in {EARLIER_DATABASE}, where earlier versions kept it: stop all nodes of this \
         machine, then move the file and its -wal and -shm files: mv {EARLIER_DATABASE}* {}",
        folder()
    )]
    Moved,
    #[error(
        "cannot use the database {url}: {why}; give another database with --database sqlite:///ABSOLUTE/PATH or \
         postgres://USER@HOST/DATABASE"
    )]
    Database {
        url: String,
        /// The cause.
        why: String,
    },
}

impl SystemError for Error {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Bind { .. } => 1,
            Self::Moved | Self::Database { .. } => 7,
        }
    }
}

fn folder() -> Display<'static> {
    Path::new(DEFAULT_DATABASE)
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
}

/// Returns the cause of an unusable address, and the remedy.
fn hint(source: &io::Error) -> String {
    let advice = match source.kind() {
        ErrorKind::AddrNotAvailable => {
            "the address is not this machine's: give the id of a line that names this machine, with --id ID"
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 need CAP_NET_BIND_SERVICE: give the node another port in the list, or grant the \
             capability"
        }
        ErrorKind::AddrInUse => {
            "another process uses it, perhaps another run of this node: ss -ulpnt shows the process"
        }
        _ => return source.to_string(),
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::path::PathBuf;

    use ring_host::SystemError;

    use super::Error;

    #[test]
    fn each_problem_has_an_action_and_a_code() {
        let bind = |kind| Error::Bind {
            address: ([192, 0, 2, 1], 7400).into(),
            what: "UDP",
            id: 2,
            list: PathBuf::from("nodes.csv"),
            source: io::Error::from(kind),
        };
        let database = Error::Database {
            url: "sqlite:///nowhere/board.db".to_owned(),
            why: "unable to open".to_owned(),
        };
        for (error, code, advice) in [
            (bind(ErrorKind::AddrNotAvailable), 1, "--id ID"),
            (bind(ErrorKind::PermissionDenied), 1, "CAP_NET_BIND_SERVICE"),
            (bind(ErrorKind::AddrInUse), 1, "node 2 in nodes.csv"),
            (bind(ErrorKind::OutOfMemory), 1, "192.0.2.1:7400"),
            (database, 7, "--database"),
            (
                Error::Moved,
                7,
                "mv /var/lib/ringd/board.db* /var/lib/ringd-board",
            ),
        ] {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
