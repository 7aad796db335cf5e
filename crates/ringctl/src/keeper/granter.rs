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

/// A granter. It sends the replies that `docs/reference/control.md` describes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Granter {
    Daemon(PathBuf),
    /// A separate process of this program, which the keeper starts for this lock. Its standard input is a Unix socket,
    /// over which it answers like a daemon. The process ends when the keeper closes the socket.
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
                // The process must not inherit the standard output of the keeper, because this is the keeper's life
                // line. No other process may keep the life line open.
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
                format!("no answer from {name}, the process that requests the token: it is stopped")
            }
        }
    }

    pub(super) fn hung_up_text(&self) -> String {
        match self {
            Self::Daemon(_) => client::HUNG_UP_TEXT.to_owned(),
            Self::Process { name, .. } => {
                format!("{name}, the process that requests the token, was killed")
            }
        }
    }

    /// Returns the reason for a loss because the granter has ended.
    pub(super) fn ended_text(&self) -> String {
        match self {
            Self::Daemon(_) => "ringd has ended".to_owned(),
            Self::Process { name, .. } => {
                format!("{name}, the process that renews its lease, was killed")
            }
        }
    }

    /// Returns the reason for a loss because the lease was not renewed in time.
    pub(super) fn overdue_text(&self) -> String {
        match self {
            Self::Daemon(_) => OVERDUE_TEXT.to_owned(),
            Self::Process { name, .. } => format!(
                "its lease was not renewed in time: the servers cannot be reached, or the servers or {name} are \
                 stopped"
            ),
        }
    }
}
