//! Why a daemon did not start or did not go on, in words, each with an exit code.

use std::error;
use std::io;
use std::path::PathBuf;

use ring_runtime::wait::Failure;
use thiserror::Error;

/// Why one system's node does not start or go on. Its text is a sentence for the operator: what failed, on what,
/// what to do.
pub trait SystemError: error::Error + Send + Sync + 'static {
    /// The process's exit code, as the program's `--help` lists them.
    fn exit_code(&self) -> u8;
}

/// Why the daemon gave up. The text is a sentence for the operator: what failed, on what, what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot work: why, and what to give instead.
    #[error("{0}")]
    Usage(String),
    /// What only this system knows of.
    #[error("{0}")]
    OfSystem(Box<dyn SystemError>),
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
    /// A second signal came before the shutdown was complete.
    #[error("stopped by a second signal, before the shutdown was complete")]
    Interrupted,
    /// A system call failed that does not fail on a healthy system.
    #[error(transparent)]
    System(#[from] Failure),
}

impl Error {
    /// The process's exit code, as the program's `--help` lists them.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted | Self::System(_) => 1,
            Self::Usage(_) => 2,
            Self::Control { .. } | Self::ControlInUse { .. } => 8,
            Self::OfSystem(error) => error.exit_code(),
        }
    }

    /// For `map_err`: a system call that was to do `what` failed.
    pub fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System(Failure::to(what)(source))
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
    #[error("there is no such ring; give another: --ring NAME")]
    struct NoRing;

    impl SystemError for NoRing {
        fn exit_code(&self) -> u8 {
            42
        }
    }

    #[test]
    fn each_says_what_to_do_and_has_its_code() {
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
