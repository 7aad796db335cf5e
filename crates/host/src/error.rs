//! The errors that end a daemon. Each error has a text for the operator and an exit code.

use std::error;
use std::io;
use std::path::PathBuf;

use ring_runtime::wait::SystemCallError;
use thiserror::Error;

/// An error that only one system has. The text of the error contains the failure, the cause and a remedy, for the
/// operator.
pub trait SystemError: error::Error + Send + Sync + 'static {
    /// Returns the process's exit code, as listed in the program's `--help`.
    fn exit_code(&self) -> u8;
}

/// The error that ends the daemon. The text of the error contains the failure, the cause and a remedy, for the
/// operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The daemon cannot use the command line. The text gives the reason and a remedy.
    #[error("{0}")]
    Usage(String),
    /// An error of the system that the daemon runs.
    #[error("{0}")]
    OfSystem(Box<dyn SystemError>),
    /// The control socket or the monitor socket cannot be made.
    #[error("cannot make the socket {}: {source}; choose another path with --control PATH",
        path.display())]
    Control {
        /// Path of the socket, or of its directory.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// A different process listens at the socket's path.
    #[error(
        "cannot make the socket {}: another process uses it; choose another path with --control PATH",
        path.display()
    )]
    ControlInUse {
        /// Path of the socket.
        path: PathBuf,
    },
    /// A second signal arrived before the daemon's shutdown was complete.
    #[error("stopped by a second signal before the shutdown was complete")]
    Interrupted,
    /// A system call failed that never fails on a healthy system.
    #[error(transparent)]
    System(#[from] SystemCallError),
}

impl Error {
    /// Returns the process's exit code, as listed in the program's `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted | Self::System(_) => 1,
            Self::Usage(_) => 2,
            Self::Control { .. } | Self::ControlInUse { .. } => 8,
            Self::OfSystem(error) => error.exit_code(),
        }
    }

    /// Returns a function for `map_err`. It adds the text `what`, which names the failed action.
    pub fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System(SystemCallError::to(what)(source))
    }
}

impl<E: SystemError> From<E> for Error {
    fn from(error: E) -> Self {
        Self::OfSystem(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, SystemError};
    use std::io;
    use std::path::PathBuf;

    #[derive(Debug, thiserror::Error)]
    #[error("there is no such ring; choose another one with --ring NAME")]
    struct NoRing;

    impl SystemError for NoRing {
        fn exit_code(&self) -> u8 {
            42
        }
    }

    #[test]
    fn each_error_says_what_to_do_and_has_its_exit_code() {
        let path = || PathBuf::from("/nowhere");
        let cases = [
            (
                Error::Control {
                    path: path(),
                    source: io::Error::from(io::ErrorKind::PermissionDenied),
                },
                8,
                "--control PATH",
            ),
            (Error::ControlInUse { path: path() }, 8, "--control PATH"),
            (Error::Usage("give less".to_owned()), 2, "give less"),
            (Error::from(NoRing), 42, "--ring NAME"),
        ];
        for (error, code, advice) in cases {
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
