//! Why the daemon did not start or did not go on, in words, each with an exit code.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::sys::{LockError, OpenError, owned};

/// Why `ringd` gave up. The text is a sentence for the operator: what failed, on what, what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot work: why, and what to give instead.
    #[error("{0}")]
    Usage(String),
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
    /// Another daemon holds the state file.
    #[error(
        "another ringd holds {}: it may run in another network namespace; give each its own \
         --state-dir DIR", path.display()
    )]
    StateLocked {
        /// The file.
        path: PathBuf,
    },
    /// The control socket cannot be made.
    #[error("cannot make the control socket {}: {source}; give another: --control PATH",
        path.display())]
    Control {
        /// Its path, or that of its directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody answers on the control socket's path.
    #[error(
        "the control socket {} is in use by another process; give another: --control PATH",
        path.display()
    )]
    ControlInUse {
        /// Its path.
        path: PathBuf,
    },
    /// A second signal came before the token was handed over.
    #[error("stopped by a second signal, before the shutdown was complete")]
    Interrupted,
    /// A system call failed that does not fail on a healthy system.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// The process's exit code, as `ringd --help` lists them.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted
            | Self::System { .. }
            | Self::Open(OpenError::Io { .. })
            | Self::Lock(LockError::Io { .. }) => 1,
            Self::Usage(_) => 2,
            Self::NoInterface { .. } | Self::Open(OpenError::Gone { .. }) => 3,
            Self::Open(OpenError::NotEthernet { .. }) => 4,
            Self::Open(OpenError::Permission { .. }) => 5,
            Self::Lock(LockError::Held { .. }) => 6,
            Self::State { source, .. } if owned::is_refused(source) => 9,
            Self::StateNewer { .. } => 9,
            Self::State { .. } | Self::StateLocked { .. } => 7,
            Self::Control { .. } | Self::ControlInUse { .. } => 8,
        }
    }

    /// For `map_err`: a system call that was to do `what` failed.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
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
    use crate::sys::Holder;
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
            (
                Error::Control {
                    path: path(),
                    source: denied(),
                },
                8,
                "--control PATH",
            ),
            (Error::ControlInUse { path: path() }, 8, "--control PATH"),
        ];
        for (error, code, advice) in cases {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
