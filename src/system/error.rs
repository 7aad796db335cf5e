//! Errors that stop a node of any system of `ringd` at its start, each with an exit code.

use std::io;
use std::path::PathBuf;

use ring_host::SystemError;
use ring_process::{LockError, private_files};
use ring_runtime::net::OpenError;
use thiserror::Error;

/// The error that stops a node at its start. The text of the error names the failure, the cause and a remedy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The interface that the user named does not exist.
    #[error("there is no interface '{name}'; {}", describe_existing(.existing))]
    NoInterface {
        /// The interface's name, in the user's spelling.
        name: String,
        /// The interfaces that exist.
        existing: Vec<String>,
    },
    /// The packet socket cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A different daemon locked the ring of this interface.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state file cannot be made, opened or read.
    #[error("cannot use {}: {source}; choose a directory for ringd with --state-dir DIR",
        path.display())]
    State {
        /// The directory or file that caused the error.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The state file has a format of a newer version.
    #[error(
        "cannot read {}: it was written by a newer ringd (format {format}); run that version, or start without \
         its state with another --state-dir DIR", path.display()
    )]
    StateNewer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        format: u8,
    },
    /// A different file now has the path of the state file.
    #[error(
        "cannot use {}: it is not a state file of ringd, and is not changed; move it away, or choose a directory for \
         ringd with --state-dir DIR", path.display()
    )]
    StateForeign {
        /// The file.
        path: PathBuf,
    },
    /// A different daemon locked the state file.
    #[error(
        "cannot use {}: another ringd uses it, perhaps in another network namespace; give each ringd its own \
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
            Self::State { source, .. } if private_files::is_refused(source) => 9,
            Self::StateNewer { .. } | Self::StateForeign { .. } => 9,
            Self::State { .. } | Self::StateLocked { .. } => 7,
        }
    }
}

fn describe_existing(existing: &[String]) -> String {
    if existing.is_empty() {
        "this machine has no interface".to_owned()
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
    fn each_error_says_what_to_do_and_has_its_exit_code() {
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
                "run that version",
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
