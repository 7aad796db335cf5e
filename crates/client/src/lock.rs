//! The token of a ring, held by this program. It is what `ringctl run` does for a command (`docs/control.md`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_control::lab2::{LockRequest, RingRequest};
use ring_control::{CONTROL_DIR, Grant, NodeName, Refusal, Request};
use ring_proto::time::Instant;
use ring_runtime::clock;
use thiserror::Error;

use crate::daemon::{ConnectError, PATIENCE, connect};
use crate::held::{HeldLock, Said};
use crate::lease::{Margin, Margins, OVERDUE};

pub use ring_control::lab2::Grade;

/// How long before its end a ring's lease is no longer for work. Each heartbeat that members confirm renews it, four of
/// them in its length with the defaults.
pub const MARGINS: Margins = Margins {
    warning: Margin::share(4, Duration::MAX),
    // No more than the kernel needs to carry out a SIGKILL.
    kill: Margin::share(8, Duration::from_secs(1)),
};

/// Why there is no lock.
#[derive(Debug, Error)]
pub enum LockError {
    /// The daemon is not reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The lock is not granted.
    #[error("{}", .0.text)]
    Refused(Refusal),
    /// The daemon does not carry the request out: why, as a sentence.
    #[error("ringd says: {0}")]
    NotUnderstood(String),
    /// The daemon has closed the connection.
    #[error("ringd has closed the connection: it has ended, or serves too many clients")]
    Closed,
    /// No answer came in time.
    #[error("ringd does not answer: it is stopped, or hangs")]
    Silent,
    /// The system cannot wait.
    #[error("cannot wait for ringd: {0}")]
    Wait(#[from] io::Error),
}

/// How a lock is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// What for, as `ringctl status` shows it: at most [`MAX_LABEL`](ring_control::MAX_LABEL) bytes.
    pub label: String,
    /// How long it is waited for; `None`: without end. Zero: only if nobody of this machine works under the token.
    pub wait: Option<Duration>,
    /// For how long it is held at the most; `None`: as long as the ring lets this machine.
    pub max_hold: Option<Duration>,
    /// How many members must confirm it, as long as it is held (`docs/guarantees.md`).
    pub require: Option<Grade>,
}

/// What has ended a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// The lease lasts longer.
    Renewed,
    /// The lock is lost: why, as a sentence. The work must end before [`Lock::remaining`] is zero.
    Lost(String),
    /// It is as late as the wait may last.
    Late,
}

/// A lock on the ring's token. It ends when it is dropped; [`release`](Self::release) waits until others can have it.
///
/// Who has it calls [`wait`](Self::wait) again and again, since that is what learns that the lease lasts longer, or that
/// the lock is lost. Work is safe while [`remaining`](Self::remaining) is not zero.
#[derive(Debug)]
pub struct Lock {
    held: HeldLock,
    grant: Grant,
}

/// Returns the control socket of the ring on this interface.
pub fn socket(interface: &str) -> PathBuf {
    NodeName::new(interface).socket(Path::new(CONTROL_DIR))
}

impl Lock {
    /// Asks the daemon at `socket` for the token, and waits for it as long as is wanted.
    ///
    /// # Errors
    /// The daemon is not reached, refuses, or does not answer.
    pub fn acquire(socket: &Path, wanted: &Wanted) -> Result<Self, LockError> {
        let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        let request: Request<RingRequest> = Request::Lock(LockRequest {
            label: wanted.label.clone(),
            wait_ms: wanted.wait.map(millis),
            max_hold_ms: wanted.max_hold.map(millis),
            require: wanted.require,
            under: None,
        });
        let by = |wait| clock::now().monotonic + wait + PATIENCE;
        let mut held = HeldLock::ask(connect(socket)?, &request, wanted.wait.map(by), MARGINS);
        loop {
            match held.next_said() {
                Some(Said::Granted(grant)) => return Ok(Self { held, grant }),
                Some(Said::Refused(refusal)) => return Err(LockError::Refused(refusal)),
                Some(Said::Error(why)) => return Err(LockError::NotUnderstood(why)),
                Some(_) => continue,
                None if held.has_ended() => return Err(LockError::Closed),
                None => {}
            }
            if !held.fill_by(held.deadline())? {
                return Err(LockError::Silent);
            }
        }
    }

    /// Returns the fencing token: what the work acts upon refuses all that are older (`docs/fencing.md`).
    pub fn fencing(&self) -> &str {
        &self.grant.fencing
    }

    /// Returns for how long work under the lock is safe, unless the lease is renewed meanwhile.
    pub fn remaining(&self) -> Duration {
        let end = self
            .held
            .lease()
            .map_or(Instant::default(), |it| it.until());
        end.since(clock::now().monotonic)
    }

    /// Waits until something is said of the lock, `pause` at the most.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn wait(&mut self, pause: Duration) -> io::Result<Wake> {
        let until = clock::now().monotonic + pause;
        loop {
            match self.held.next_said() {
                Some(Said::Renewed) => return Ok(Wake::Renewed),
                Some(Said::Lost(loss)) => return Ok(Wake::Lost(loss.text)),
                Some(_) => continue,
                None => {}
            }
            let now = clock::now().monotonic;
            if self.held.has_ended() {
                return Ok(Wake::Lost(
                    "ringd has ended, and the lock with it".to_owned(),
                ));
            }
            if self.held.is_overdue(now) {
                return Ok(Wake::Lost(OVERDUE.to_owned()));
            }
            if until <= now {
                return Ok(Wake::Late);
            }
            let by = self.held.deadline().map_or(until, |it| it.min(until));
            self.held.fill_by(Some(by))?;
        }
    }

    /// Gives the lock back, and waits a moment for the confirmation.
    ///
    /// # Errors
    /// The system refuses what every process may do.
    pub fn release(mut self) -> io::Result<()> {
        self.held.give_back(None, None)
    }
}

impl AsFd for Lock {
    /// Readable when there is something to [wait](Lock::wait) for.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}
