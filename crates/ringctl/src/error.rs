//! Why `ringctl` could not do what it was asked, in words, each with an exit code.

use std::io;
use std::path::{Path, PathBuf};

use ring_client::daemon::ConnectError;
use ring_client::fencing::{FencingError, ParseTokenError};
use ring_control::{CONTROL_DIR, NodeName, Reply};
use thiserror::Error;

use super::nodes;

/// The exit code for wrong usage, as clap's.
const USAGE: u8 = 2;
/// The exit code for a lock that was lost: `EX_TEMPFAIL`, which few commands use.
const LOST: u8 = 75;
/// The exit code for a token that is no longer the newest.
const STALE: u8 = 76;

/// Why `ringctl` gave up. The text has the reason in its sentence, so no error names a source, which would be
/// printed once more.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No daemon's socket is found.
    #[error(
        "no ringd runs on this machine, or its socket is not in {CONTROL_DIR} or {CONTROL_DIR}-SYSTEM: start one with \
         sudo ringd IFACE, or give its socket with --socket PATH"
    )]
    NoneRuns,
    /// There are several daemons.
    #[error("several ringd run on this machine: choose one with -i {}", .interfaces.join(" or -i "))]
    Several {
        /// Their interfaces.
        interfaces: Vec<String>,
    },
    /// Daemons run, and none can do what is asked.
    #[error(
        "no ringd on this machine can do that: only {} runs; start one that can with {start}",
        .nodes.join(" and ")
    )]
    NoneCan {
        /// Their names.
        nodes: Vec<String>,
        /// The command that starts a daemon that can.
        start: &'static str,
    },
    /// A directory of sockets cannot be read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Directory(PathBuf, io::Error),
    /// The daemon is not reached.
    #[error("{}", unreached(.0))]
    Connect(#[from] ConnectError),
    /// No reply, or half of one.
    #[error("no answer from ringd at {}: {reason}", path.display())]
    Exchange {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// This version does not know the reply.
    #[error("cannot read the answer of ringd at {} ({reason}): are ringd and ringctl of one \
        version?", path.display())]
    Reply {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
    /// The reply belongs to another request.
    #[error("unexpected answer from ringd: {0}")]
    Unexpected(String),
    /// The daemon answered with an error.
    #[error("ringd says: {0}")]
    Refused(String),
    /// The daemon cannot be reached, or is gone: why, as a sentence.
    #[error("{0}")]
    Gone(String),
    /// The paused node still owns the token: why, as a sentence.
    #[error("pending: {0}")]
    Pending(String),
    /// No member has this name.
    #[error(
        "no member of the ring is called '{0}': ringctl status shows their names and addresses"
    )]
    NoMember(String),
    /// More than one member has this name.
    #[error(
        "several members of the ring are called '{0}': give an address that ringctl status shows"
    )]
    SeveralMembers(String),
    /// What was asked for cannot be: why, and what to give instead.
    #[error("{0}")]
    Usage(String),
    /// The lock is not granted.
    #[error("{text}")]
    NotAcquired {
        /// Why, as a sentence.
        text: String,
        /// The exit code that was asked for.
        code: u8,
    },
    /// The job has already run in its period: when and where, as a sentence.
    #[error("{0}")]
    HasRun(String),
    /// The job has already begun in its period, and was lost: when and where, as a sentence.
    #[error("{0}")]
    RunLost(String),
    /// The process that has started this one is not to be seen.
    #[error("the calling process is in another PID namespace: give --pid PID")]
    NoCaller,
    /// There is no lock to release or to check.
    #[error("no lock is held for that process: it was never acquired, is lost, or was given back")]
    NotHeld,
    /// Standard output is no pipe.
    #[error("--pipe needs a pipe as standard output")]
    NoPipe,
    /// The node did not reach the state in time.
    #[error("timed out after {after}: {last}")]
    NotYet {
        /// How long `ringctl` waited, for people.
        after: String,
        /// The last state, as a sentence.
        last: String,
    },
    /// The data are too long.
    #[error("data too long: {0}")]
    TooMuch(
        /// How many bytes they have, and how many they may have, as far as is known.
        String,
    ),
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// The lock was lost while it was held.
    #[error("the token is lost, and what ran under it was ended: {0}")]
    Lost(String),
    /// A lock under which nothing runs was lost: why, as a sentence.
    #[error("the token is lost: {0}")]
    HoldLost(String),
    /// A token has no data, as a sentence.
    #[error("{0}")]
    NoData(String),
    /// The lock was lost, and a process that ran under it is still at work.
    #[error("the token is lost, but not all that ran under it could be ended: {0}")]
    Outlived(String),
    /// The keeper was killed before it had the lock.
    #[error("the process that waits for the token (ringd-keeper) was killed")]
    KeeperGone,
    /// There is no token in the environment or on the command line.
    #[error("no token: run this under ringctl run, or give one with --token")]
    NoToken,
    /// The text is no token.
    #[error(transparent)]
    Token(#[from] ParseTokenError),
    /// The record refuses the token.
    #[error(transparent)]
    Fencing(#[from] FencingError),
    /// A system call failed that every program needs.
    #[error("system call failed: {0}")]
    System(io::Error),
}

/// The exit code of a pause that is not complete.
const PENDING: u8 = 6;

impl Error {
    /// Returns the error for a reply that is not the one that was asked for.
    pub(super) fn unexpected(reply: Reply) -> Self {
        match reply {
            Reply::Error(why) => Self::Refused(why),
            other => Self::Unexpected(format!("{other:?}")),
        }
    }

    /// Whether it is a negative answer rather than a failure: the exit code is enough.
    pub const fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::NotAcquired { .. } | Self::NotHeld | Self::NotYet { .. } | Self::Pending(_)
        )
    }

    /// Returns the process's exit code, as `ringctl --help` lists them.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Fencing(FencingError::Stale { .. }) => STALE,
            Self::NoneRuns
            | Self::NoneCan { .. }
            | Self::Directory(..)
            | Self::Connect(_)
            | Self::Exchange { .. }
            | Self::Gone(_) => 3,
            Self::Several { .. } | Self::NoData(_) => 4,
            Self::Usage(_) => USAGE,
            Self::HasRun(_) | Self::RunLost(_) => 0,
            Self::Pending(_) => PENDING,
            Self::NotAcquired { code, .. } => *code,
            Self::Lost(_) | Self::HoldLost(_) | Self::Outlived(_) => LOST,
            Self::Reply { .. }
            | Self::Unexpected(_)
            | Self::Refused(_)
            | Self::NoMember(_)
            | Self::SeveralMembers(_)
            | Self::NoCaller
            | Self::NotHeld
            | Self::NoPipe
            | Self::NotYet { .. }
            | Self::TooMuch(_)
            | Self::Input(_)
            | Self::KeeperGone
            | Self::NoToken
            | Self::Token(_)
            | Self::Fencing(_)
            | Self::System(_) => 1,
        }
    }
}

fn unreached(error: &ConnectError) -> String {
    match error {
        ConnectError::Unreachable { path, reason } => format!(
            "cannot reach ringd at {}: {reason}; {}",
            path.display(),
            advice(path, reason)
        ),
        ConnectError::Stranger { path, uid, service } => format!(
            "{} belongs to a process of user {uid}, which ringctl does not trust there: it asks a ringd that runs as \
             root, as its own user, or as the user {service}",
            path.display()
        ),
    }
}

fn advice(socket: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "try sudo, or join the socket's group".to_owned(),
        io::ErrorKind::WouldBlock => "it is busy or stopped".to_owned(),
        _ => format!("is it running? Start it with {}", start_command(socket)),
    }
}

/// Returns the command that starts the node of a control socket. Other places than those of `-i` tell no name.
fn start_command(socket: &Path) -> String {
    let place = socket.parent().and_then(Path::to_str);
    let is_usual = place.is_some_and(|place| place.starts_with(CONTROL_DIR));
    let name = NodeName::of_socket(socket).filter(|_| is_usual);
    nodes::start_command(name.as_ref())
}
