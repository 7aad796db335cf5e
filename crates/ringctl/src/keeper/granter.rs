//! The granter of a keeper's lock.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use super::super::{Error, client};
use super::THIS_PROGRAM;
use ring_client::daemon;
use ring_client::lease::OVERDUE_TEXT;
use ring_client::lines::Lines;

/// A granter. It sends the replies of `docs/control.md`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Granter {
    Daemon(PathBuf),
    /// A process that the keeper starts for this lock: this program again. Its standard input is a Unix socket, over
    /// which it answers as a daemon does. It ends when the keeper closes the socket.
    Process {
        name: String,
        arguments: Vec<String>,
    },
}

impl Granter {
    pub(super) fn connect(&self) -> Result<(Lines, Option<Child>), Error> {
        match self {
            Self::Daemon(socket) => Ok((daemon::connect(socket)?, None)),
            Self::Process { name, arguments } => {
                let (ours, its) = UnixStream::pair().map_err(Error::System)?;
                // The keeper's output is its life line, which no other process may keep open.
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

    pub(super) fn socket(&self) -> Option<&Path> {
        match self {
            Self::Daemon(socket) => Some(socket),
            Self::Process { .. } => None,
        }
    }

    pub(super) fn no_answer_text(&self) -> String {
        match self {
            Self::Daemon(_) => client::no_answer_text(),
            Self::Process { name, .. } => {
                format!(
                    "no answer from the process that requests the token ({name}): it is stopped"
                )
            }
        }
    }

    pub(super) fn hung_up_text(&self) -> String {
        match self {
            Self::Daemon(_) => client::HUNG_UP_TEXT.to_owned(),
            Self::Process { name, .. } => {
                format!("the process that requests the token ({name}) was killed")
            }
        }
    }

    /// Returns the reason for a loss because the granter has ended.
    pub(super) fn ended_text(&self) -> String {
        match self {
            Self::Daemon(_) => "ringd has ended".to_owned(),
            Self::Process { name, .. } => {
                format!("the process that renews its lease ({name}) was killed")
            }
        }
    }

    /// Returns the reason for a loss because the lease was not renewed in time.
    pub(super) fn overdue_text(&self) -> String {
        match self {
            Self::Daemon(_) => OVERDUE_TEXT.to_owned(),
            Self::Process { name, .. } => format!(
                "its lease was not renewed in time: the servers or {name} are stopped or cannot be reached"
            ),
        }
    }
}
