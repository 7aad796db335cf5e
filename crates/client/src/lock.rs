//! A lock on the token of a ring. This lock and the lock of a command under `ringctl run` have the same rules
//! (`docs/reference/control.md`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_control::lab2::{LockRequest, RingRequest};
use ring_control::{CONTROL_DIR, Grant, NodeName, Refusal, Request};
use ring_proto::time::Instant;
use ring_runtime::clock;
use thiserror::Error;

use crate::daemon::{ConnectError, STEP_TIMEOUT, connect};
use crate::held_lock::{HeldLock, LockMessage};
use crate::lease::{Margin, Margins, OVERDUE_TEXT};

pub use ring_control::lab2::Grade;

/// The margins of a ring's leases. Each heartbeat that the members confirm renews the lease. With the defaults, a lease
/// is as long as four heartbeats.
pub const MARGINS: Margins = Margins {
    warning: Margin::share(4, Duration::MAX),
    // After SIGKILL, the kernel needs at most this time to end the processes.
    kill: Margin::share(8, Duration::from_secs(1)),
};

/// The reason why the program has no lock.
#[derive(Debug, Error)]
pub enum LockError {
    /// The daemon cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The lock is refused.
    #[error("{}", .0.text)]
    Refused(Refusal),
    /// The daemon rejects the request: the reason, as a sentence.
    #[error("ringd refuses: {0}")]
    Rejected(String),
    /// The daemon closed the connection.
    #[error(
        "ringd has closed the connection: ringd has ended, or serves too many clients; run ringctl status"
    )]
    Closed,
    /// The daemon did not answer in time.
    #[error("no answer from ringd in time: ringd is stopped, or hangs")]
    NoAnswer,
    /// The system cannot wait.
    #[error("cannot wait for ringd: {0}")]
    Wait(#[from] io::Error),
}

/// Options of a request for a lock.
#[derive(Debug, Clone, Default)]
pub struct LockOptions {
    /// The label that `ringctl status` shows: at most [`LABEL_LEN_MAX`](ring_control::LABEL_LEN_MAX) bytes.
    pub label: String,
    /// Maximum time to wait for the lock; `None` means no limit. With a maximum of zero, the request succeeds only if
    /// no program of this machine uses the token.
    pub wait: Option<Duration>,
    /// Maximum time to hold the lock. `None` if the program sets no limit. The ring may have a limit too.
    pub max_hold: Option<Duration>,
    /// The grade that the lock must have while it is held (`docs/explanation/guarantees.md`).
    pub require: Option<Grade>,
}

/// The reason for the end of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// The lease lasts longer.
    Renewed,
    /// The lock is lost: the reason, as a sentence. The work must end before [`Lock::remaining`] returns zero.
    Lost(String),
    /// The maximum time of the wait is over.
    TimedOut,
}

/// A lock on the ring's token. Dropping this value releases the lock, and does not wait for the confirmation.
/// [`release`](Self::release) also waits for the confirmation.
///
/// The holder must call [`wait`](Self::wait) repeatedly, because only this method reads the messages about the renewals
/// and the loss of the lock. Work is safe while [`remaining`](Self::remaining) returns more than zero.
#[derive(Debug)]
pub struct Lock {
    held: HeldLock,
    grant: Grant,
}

/// Returns the path at which the daemon of the ring on this interface has its control socket.
pub fn socket_path(interface: &str) -> PathBuf {
    NodeName::new(interface).socket_path(Path::new(CONTROL_DIR))
}

impl Lock {
    /// Requests the token from the daemon at `socket`, and waits for the grant, at most as long as `options` permits.
    ///
    /// # Errors
    /// Fails if the daemon cannot be reached, refuses the request, or does not answer.
    pub fn acquire(socket: &Path, options: &LockOptions) -> Result<Self, LockError> {
        let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        let request: Request<RingRequest> = Request::Lock(LockRequest {
            label: options.label.clone(),
            wait_ms: options.wait.map(millis),
            max_hold_ms: options.max_hold.map(millis),
            require: options.require,
            under: None,
        });
        let by = |wait| clock::now().monotonic + wait + STEP_TIMEOUT;
        let mut held = HeldLock::request(connect(socket)?, &request, options.wait.map(by), MARGINS);
        loop {
            match held.next_message() {
                Some(LockMessage::Granted(grant)) => return Ok(Self { held, grant }),
                Some(LockMessage::Refused(refusal)) => return Err(LockError::Refused(refusal)),
                Some(LockMessage::Error(why)) => return Err(LockError::Rejected(why)),
                Some(_) => continue,
                None if held.has_ended() => return Err(LockError::Closed),
                None => {}
            }
            if !held.fill_by(held.deadline())? {
                return Err(LockError::NoAnswer);
            }
        }
    }

    /// Returns the fencing token. After a resource has seen this token, it refuses writes with older tokens
    /// (`docs/explanation/why-fencing.md`).
    pub fn fencing(&self) -> &str {
        &self.grant.fencing
    }

    /// Returns the time from now until the end of the lease. During this time, work under the lock is safe.
    pub fn remaining(&self) -> Duration {
        let end = self
            .held
            .lease()
            .map_or(Instant::default(), |it| it.until());
        end.since(clock::now().monotonic)
    }

    /// Waits for a message about the lock, but at most for `pause`.
    ///
    /// # Errors
    /// Fails if the system cannot wait.
    pub fn wait(&mut self, pause: Duration) -> io::Result<Wake> {
        let until = clock::now().monotonic + pause;
        loop {
            match self.held.next_message() {
                Some(LockMessage::Renewed) => return Ok(Wake::Renewed),
                Some(LockMessage::Lost(loss)) => return Ok(Wake::Lost(loss.text)),
                Some(_) => continue,
                None => {}
            }
            let now = clock::now().monotonic;
            if self.held.has_ended() {
                return Ok(Wake::Lost(
                    "ringd has ended, so the lock is lost".to_owned(),
                ));
            }
            if self.held.is_overdue(now) {
                return Ok(Wake::Lost(OVERDUE_TEXT.to_owned()));
            }
            if until <= now {
                return Ok(Wake::TimedOut);
            }
            let by = self.held.deadline().map_or(until, |it| it.min(until));
            self.held.fill_by(Some(by))?;
        }
    }

    /// Releases the lock, and waits up to a second for the confirmation.
    ///
    /// # Errors
    /// Fails only if a basic system call fails.
    pub fn release(mut self) -> io::Result<()> {
        self.held.release(None, None)
    }
}

impl AsFd for Lock {
    /// The descriptor becomes readable when [`wait`](Lock::wait) can return a message.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}
