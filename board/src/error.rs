//! Why a node does not start, in words, each with an exit code.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Display, Path, PathBuf};

use ring_host::SystemError;
use thiserror::Error;

use crate::options::{DATABASE, EARLIER};

/// Why a node does not start. The text is a sentence for the operator: what failed, on what, what to do.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// An address of this node cannot be used.
    #[error("cannot use {address} for {what}, by the line of node {id} in {}: {}", list.display(), hint(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What for.
        what: &'static str,
        /// The node.
        id: u32,
        /// The list.
        list: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file of the database is where earlier versions kept it.
    #[error(
        "the database is still in {EARLIER}, where earlier versions kept it: stop all nodes of this machine, then move it \
         and the files beside it: mv {EARLIER}* {}",
        folder()
    )]
    Moved,
    /// The file of the database cannot be used.
    #[error(
        "cannot use the database {url}: {why}; give another: --database sqlite:///ABSOLUTE/PATH or postgres://USER@HOST/DATABASE"
    )]
    Database {
        /// Where it is.
        url: String,
        /// What is said there.
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
    Path::new(DATABASE)
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
}

/// What is wrong with an address, and what to do.
fn hint(source: &io::Error) -> String {
    let advice = match source.kind() {
        ErrorKind::AddrNotAvailable => {
            "it is not this machine's: give the id of a line that names this machine, --id ID"
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 need a right: give the node another in the list, or CAP_NET_BIND_SERVICE"
        }
        ErrorKind::AddrInUse => {
            "another process has it, maybe this node already: ss -ulpnt names it"
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
    fn each_says_what_to_do_and_has_its_code() {
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
