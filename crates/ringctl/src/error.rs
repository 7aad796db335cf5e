//! The errors of `ringctl`, each with a text for people and an exit code.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ring_client::daemon::ConnectError;
use ring_client::fencing::{FencingError, ParseTokenError};
use ring_control::{CONTROL_DIR, MONITOR_GROUP, Reply};
use ring_proto::lab2::LockName;
use thiserror::Error;

use super::discover::node_at;
use super::nodes;

/// The exit code for wrong usage, which clap uses too.
const USAGE_CODE: u8 = 2;
/// The exit code for a pause that is not complete.
const PENDING_CODE: u8 = 6;
/// The exit code for a lock that was lost: `EX_TEMPFAIL`, which few commands use.
const LOST_CODE: u8 = 75;
/// The exit code for a fencing token that is not the newest.
const STALE_CODE: u8 = 76;

/// The reason why `ringctl` gave up. The text of an error contains the cause. So the errors have no `source`: with a
/// `source`, the cause would be printed twice. Each string in a variant is a sentence with the cause.
#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error(
        "cannot find a ringd: no ringd listens at a socket in {CONTROL_DIR} or {CONTROL_DIR}-SYSTEM; start one with \
         sudo ringd IFACE, or name its socket with --socket PATH"
    )]
    NoneRuns,
    #[error("cannot choose a ringd: several run on this machine; choose one with -i {}", .interfaces.join(" or -i "))]
    Several { interfaces: Vec<String> },
    #[error(
        "no ringd on this machine can serve the command: only {} runs; start a suitable ringd with {start}",
        .nodes.join(" and ")
    )]
    NoneCan {
        nodes: Vec<String>,
        start: &'static str,
    },
    #[error("cannot read {}: {}", .0.display(), .1)]
    Directory(PathBuf, io::Error),
    #[error(
        "cannot read {}: {}; run ringctl as root, or as the user of ringd", .0.display(), .1
    )]
    NoHistoryFile(PathBuf, io::Error),
    #[error(
        "cannot read the journal in {}: permission denied; run ringctl as root, or as a member of the group \
         systemd-journal", .0.display()
    )]
    NoJournal(PathBuf),
    #[error("cannot read the journal: journalctl failed: {0}")]
    Journal(String),
    #[error("{}", connect_error_text(.0))]
    Connect(ConnectError),
    #[error("no answer from ringd at {}: {reason}", path.display())]
    Exchange { path: PathBuf, reason: io::Error },
    #[error(
        "cannot read the answer of ringd at {}: {reason}; run the same version of ringd and ringctl",
        path.display()
    )]
    Reply {
        path: PathBuf,
        reason: serde_json::Error,
    },
    #[error("unexpected answer from ringd: {0}")]
    Unexpected(String),
    #[error("ringd refuses: {0}")]
    Refused(String),
    #[error("cannot listen at {address}: {reason}; give another address with --listen ADDRESS")]
    Listen {
        address: SocketAddr,
        reason: io::Error,
    },
    /// `ringctl` cannot reach the daemon, or the daemon has ended.
    #[error("{0}")]
    Gone(String),
    #[error("pending: {0}")]
    Pending(String),
    #[error(
        "no member of the ring is called '{0}': give a name or address that ringctl status shows"
    )]
    NoMember(String),
    #[error(
        "several members of the ring are called '{0}': give an address that ringctl status shows"
    )]
    SeveralMembers(String),
    /// The command line requests something impossible.
    #[error("{0}")]
    Usage(String),
    #[error("{text}")]
    NotAcquired {
        text: String,
        /// The exit code that the user chose. `ringctl` uses it if the token is not granted.
        code: u8,
    },
    /// The job already ran in its period.
    #[error("{0}")]
    HasRun(String),
    /// The job already began in its period, and was lost.
    #[error("{0}")]
    RunLost(String),
    #[error(
        "cannot see the calling process: it is in another PID namespace; name a process with --pid PID"
    )]
    NoCaller,
    #[error(
        "that process does not have the lock{}: it was never acquired, was lost, or was released",
        .0.as_ref().map_or_else(String::new, |name| format!(" {name}"))
    )]
    NotHeld(Option<String>),
    #[error(
        "cannot use --pipe: standard output is not a pipe; ringctl lock --help shows an example"
    )]
    NoPipe,
    #[error("timed out after {after}: {last}")]
    NotYet { after: String, last: String },
    #[error("data too long: {0}")]
    TooMuch(String),
    #[error("cannot use the terminal: {0}; print text with ringctl top -n 1")]
    Terminal(io::Error),
    #[error(
        "cannot read the recording {}: {source}; read it as root or as a member of the group of ringd",
        path.display()
    )]
    Recording { path: PathBuf, source: io::Error },
    #[error("{}", copy_error_text(path, source))]
    Copy { path: PathBuf, source: io::Error },
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    #[error("the token is lost, and the work under it was ended: {0}")]
    Lost(String),
    #[error("the lock {name} is lost, and the work under it was ended: {text}")]
    NamedLost { name: String, text: String },
    #[error("the lock {name} is lost, but some of the work under it still runs: {text}")]
    NamedOutlived { name: String, text: String },
    /// A lock without a command was lost.
    #[error("the token is lost: {0}")]
    HoldLost(String),
    /// A token has no data.
    #[error("{0}")]
    NoData(String),
    #[error("the token is lost, but some of the work under it still runs: {0}")]
    Outlived(String),
    #[error("cannot wait for the token: the process that waits for it (ringd-keeper) was killed")]
    KeeperGone,
    #[error(
        "no fencing token: RINGD_TOKEN is not set; run this under ringctl run, or give a token with --token"
    )]
    NoToken,
    #[error(
        "no fencing token: RINGD_LOCKS does not contain the lock {0}; run this under ringctl run --name {0}"
    )]
    NoNamedToken(LockName),
    #[error(transparent)]
    Token(#[from] ParseTokenError),
    #[error(transparent)]
    Fencing(#[from] FencingError),
    #[error("systemctl {line} failed: {reason}")]
    Systemctl { line: String, reason: String },
    #[error("system call failed: {0}")]
    System(io::Error),
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

impl Error {
    /// Converts a reply of the wrong kind into an error.
    pub(super) fn from_unexpected_reply(reply: Reply) -> Self {
        match reply {
            Reply::Error(why) => Self::Refused(why),
            other => Self::Unexpected(format!("{other:?}")),
        }
    }

    /// Whether the error is only a negative answer, and not a failure. With `--quiet`, negative answers are not
    /// printed.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::NotAcquired { .. } | Self::NotHeld(_) | Self::NotYet { .. } | Self::Pending(_)
        )
    }

    /// Returns the exit code of the process. `ringctl --help` lists the codes.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Fencing(FencingError::Stale { .. }) => STALE_CODE,
            Self::NoneRuns
            | Self::NoneCan { .. }
            | Self::Directory(..)
            | Self::Connect(_)
            | Self::Exchange { .. }
            | Self::Gone(_) => 3,
            Self::Several { .. } | Self::NoData(_) => 4,
            Self::Usage(_) => USAGE_CODE,
            Self::HasRun(_) | Self::RunLost(_) => 0,
            Self::Pending(_) => PENDING_CODE,
            Self::NotAcquired { code, .. } => *code,
            Self::Lost(_)
            | Self::HoldLost(_)
            | Self::Outlived(_)
            | Self::NamedLost { .. }
            | Self::NamedOutlived { .. } => LOST_CODE,
            Self::Reply { .. }
            | Self::Unexpected(_)
            | Self::Refused(_)
            | Self::Listen { .. }
            | Self::NoHistoryFile(..)
            | Self::NoJournal(_)
            | Self::Journal(_)
            | Self::NoMember(_)
            | Self::SeveralMembers(_)
            | Self::NoCaller
            | Self::NotHeld(_)
            | Self::NoPipe
            | Self::NotYet { .. }
            | Self::TooMuch(_)
            | Self::Recording { .. }
            | Self::Copy { .. }
            | Self::Input(_)
            | Self::Terminal(_)
            | Self::KeeperGone
            | Self::NoToken
            | Self::NoNamedToken(_)
            | Self::Token(_)
            | Self::Fencing(_)
            | Self::Systemctl { .. }
            | Self::System(_) => 1,
        }
    }
}

fn copy_error_text(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{path} exists; name a new file"),
        _ => format!("cannot write {path}: {error}; name a file that can be written"),
    }
}

fn connect_error_text(error: &ConnectError) -> String {
    match error {
        ConnectError::Unreachable { path, reason } => format!(
            "cannot reach ringd at {}: {reason}; {}",
            path.display(),
            advice(path, reason)
        ),
        ConnectError::Stranger { path, uid, service } => format!(
            "cannot trust the ringd at {}: the socket belongs to a process of user {uid}; ringctl trusts only root, \
             its own user and the user {service}",
            path.display()
        ),
    }
}

fn advice(socket: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "try sudo, or join the socket's group; members of the group {MONITOR_GROUP} may only read"
        ),
        io::ErrorKind::WouldBlock => "ringd is busy or stopped".to_owned(),
        _ => format!("start it with {}", start_command(socket)),
    }
}

/// Returns the command that starts the node of a control socket.
fn start_command(socket: &Path) -> String {
    nodes::start_command(node_at(socket).as_ref())
}
