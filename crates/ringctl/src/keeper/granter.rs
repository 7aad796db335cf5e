//! Who grants the lock that a keeper holds.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use super::super::{Error, client};
use super::THIS_PROGRAM;
use ring_client::daemon::connect;
use ring_client::lease::OVERDUE;
use ring_client::lines::Lines;

/// Who grants a lock, in the replies of `docs/control.md`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Granter {
    /// A daemon, at its control socket.
    Daemon(PathBuf),
    /// A process of this lock alone, which the keeper starts: this program again. It has one end of a pair of sockets as
    /// its standard input, speaks there as a daemon does, and ends when the other end is closed.
    Process {
        /// The name that it goes by.
        name: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
}

impl Granter {
    /// Opens a conversation, and starts the process if there is one.
    ///
    /// # Errors
    /// The daemon is not reached, or the system has no room for another process.
    pub(super) fn reach(&self) -> Result<(Lines, Option<Child>), Error> {
        match self {
            Self::Daemon(socket) => Ok((connect(socket)?, None)),
            Self::Process { name, arguments } => {
                let (ours, its) = UnixStream::pair().map_err(Error::System)?;
                // The keeper's output is its life line, which nobody else may have open.
                let process = Command::new(THIS_PROGRAM)
                    .arg0(name)
                    .args(arguments)
                    .stdin(Stdio::from(OwnedFd::from(its)))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn();
                let process = process.map_err(Error::System)?;
                Ok((Lines::with_daemon(ours), Some(process)))
            }
        }
    }

    /// Returns the control socket of the daemon that it is.
    pub(super) fn socket(&self) -> Option<&Path> {
        match self {
            Self::Daemon(socket) => Some(socket),
            Self::Process { .. } => None,
        }
    }

    /// Returns the message for a request that was not answered in time.
    pub(super) fn silent(&self) -> String {
        match self {
            Self::Daemon(_) => client::silent(),
            Self::Process { name, .. } => {
                format!(
                    "the process that asks for the token ({name}) does not answer: it is stopped"
                )
            }
        }
    }

    /// Returns the message for a conversation that has ended without a lock.
    pub(super) fn hung_up(&self) -> String {
        match self {
            Self::Daemon(_) => client::HUNG_UP.to_owned(),
            Self::Process { name, .. } => {
                format!("the process that asks for the token ({name}) was killed")
            }
        }
    }

    /// Returns the reason for the loss of a lock whose granter is gone.
    pub(super) fn gone(&self) -> String {
        match self {
            Self::Daemon(_) => "ringd has ended".to_owned(),
            Self::Process { name, .. } => {
                format!("the process that renews its lease ({name}) was killed")
            }
        }
    }

    /// Returns the reason for the loss of a lock whose lease is about to end.
    pub(super) fn overdue(&self) -> String {
        match self {
            Self::Daemon(_) => OVERDUE.to_owned(),
            Self::Process { name, .. } => format!(
                "its lease was not renewed in time: the servers, or {name}, are stopped, or cut off"
            ),
        }
    }
}
