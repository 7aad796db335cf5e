//! Why a node of `ringd` does not start, in words, each with an exit code: what its systems have in common.

use std::io;
use std::path::PathBuf;

use ring_host::SystemError;
use ring_process::{LockError, owned};
use ring_runtime::net::OpenError;
use thiserror::Error;

/// Why a node does not start. The text is a sentence for the operator: what failed, on what, what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no interface of that name.
    #[error("there is no interface '{name}'; {}", listed(.existing))]
    NoInterface {
        /// The name given.
        name: String,
        /// The interfaces that exist.
        existing: Vec<String>,
    },
    /// The packet socket cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another daemon has the ring.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state file cannot be made, opened or read.
    #[error("cannot use {}: {source}; give a directory of ringd's own: --state-dir DIR",
        path.display())]
    State {
        /// The directory or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The state file is one that only newer versions know.
    #[error(
        "{} was written by a newer ringd (its format is {format}): run that one, or start without what it \
         has stored in another directory: --state-dir DIR", path.display()
    )]
    StateNewer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u8,
    },
    /// What is in the state file's place is no state file.
    #[error(
        "{} is not a state file of ringd, and stays as it is: move it away, or give a directory of ringd's own: \
         --state-dir DIR", path.display()
    )]
    StateForeign {
        /// The file.
        path: PathBuf,
    },
    /// Another daemon holds the state file.
    #[error(
        "another ringd holds {}: it may run in another network namespace; give each its own \
         --state-dir DIR", path.display()
    )]
    StateLocked {
        /// The file.
        path: PathBuf,
    },
}

impl SystemError for Error {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Open(OpenError::Io { .. }) | Self::Lock(LockError::Io { .. }) => 1,
            Self::NoInterface { .. } | Self::Open(OpenError::Gone { .. }) => 3,
            Self::Open(OpenError::NotEthernet { .. }) => 4,
            Self::Open(OpenError::Permission { .. }) => 5,
            Self::Lock(LockError::Held { .. }) => 6,
            Self::State { source, .. } if owned::is_refused(source) => 9,
            Self::StateNewer { .. } | Self::StateForeign { .. } => 9,
            Self::State { .. } | Self::StateLocked { .. } => 7,
        }
    }
}

fn listed(existing: &[String]) -> String {
    if existing.is_empty() {
        "there is none at all".to_owned()
    } else {
        format!("there are: {}", existing.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, LockError, OpenError};
    use ring_host::SystemError;
    use ring_process::Holder;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn each_says_what_to_do_and_has_its_code() {
        let name = || "eth7".to_owned();
        let path = || PathBuf::from("/nowhere");
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let cases = [
            (
                Error::NoInterface {
                    name: name(),
                    existing: vec!["eth0".into(), "lo".into()],
                },
                3,
                "there are: eth0, lo",
            ),
            (
                Error::Open(OpenError::NotEthernet { interface: name() }),
                4,
                "not an Ethernet interface",
            ),
            (
                Error::Open(OpenError::Permission { interface: name() }),
                5,
                "setcap cap_net_raw+ep",
            ),
            (
                Error::Lock(LockError::Held {
                    ring: name(),
                    holder: Holder { pid: None, uid: 0 },
                }),
                6,
                "another ringd",
            ),
            (
                Error::State {
                    path: path(),
                    source: denied(),
                },
                7,
                "--state-dir DIR",
            ),
            (
                Error::StateNewer {
                    path: path(),
                    format: 2,
                },
                9,
                "run that one",
            ),
            (Error::StateLocked { path: path() }, 7, "--state-dir DIR"),
            (Error::StateForeign { path: path() }, 9, "move it away"),
        ];
        for (error, code, advice) in cases {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
