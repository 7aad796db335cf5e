//! The log's lines about locks: who has the token, who had it, for how long, and how that ended.

use std::fmt;
use std::time::Duration;

use ring_proto::time::{Instant, nanos};
use ring_text::format_duration;
use tracing::{info, warn};

use crate::observe::RateLimit;
use ring_process::{Client, ClientId};

/// Locks may be granted thousands of times a second: a burst of them gets lines, and then one a second.
const GRANTS: RateLimit = RateLimit::new(100, Duration::from_secs(1));
/// A lock that lasts so long gets its lines in any case.
const LONG: Duration = Duration::from_secs(1);

/// A lock that is held on this machine.
#[derive(Debug, Clone)]
pub struct HeldLock {
    /// Who has it.
    pub client: Client,
    /// What the client says that it is.
    pub label: String,
    /// The job that it is for.
    pub job: Option<String>,
    /// Its fencing token.
    pub token: String,
    /// Since when it is held.
    pub since: Instant,
}

/// Logs each lock twice: when it is granted and when it ends.
#[derive(Debug)]
pub struct LockLog {
    grants: RateLimit,
    /// Limits the lines of locks that are lost within [`LONG`].
    losses: RateLimit,
    held: Option<HeldLock>,
    /// Whether the grant of the lock that is held was logged.
    is_shown: bool,
}

impl Default for LockLog {
    /// Makes the log of a machine on which nobody has the token.
    fn default() -> Self {
        Self {
            grants: GRANTS,
            losses: GRANTS,
            held: None,
            is_shown: false,
        }
    }
}

impl LockLog {
    /// Returns the lock that is held.
    pub const fn held(&self) -> Option<&HeldLock> {
        self.held.as_ref()
    }

    /// A lock was granted.
    pub fn granted(&mut self, now: Instant, lock: HeldLock) {
        self.is_shown = self.grants.allow(now);
        if self.is_shown {
            self.show(&lock);
        }
        self.held = Some(lock);
    }

    /// Returns when [`look`](Self::look) has something to log.
    pub fn deadline(&self) -> Option<Instant> {
        let hidden = self.held.as_ref().filter(|_| !self.is_shown);
        hidden.map(|lock| lock.since + LONG)
    }

    /// Logs the grant of a lock that lasts for long, unless that was done.
    pub fn look(&mut self, now: Instant) {
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        self.is_shown = true;
        if let Some(lock) = self.held.take() {
            self.show(&lock);
            self.held = Some(lock);
        }
    }

    fn show(&mut self, lock: &HeldLock) {
        let more = More(self.grants.take_refused());
        let HeldLock {
            client,
            label,
            job,
            token,
            ..
        } = lock;
        let (pid, uid, user) = (client.pid, client.uid, client.user_name());
        info!(
            event = "lock_granted",
            label, job, pid, uid, user, token, "{label:?} ({client}) has the token {token}{more}"
        );
    }

    /// A client has given its lock back, after a command with this exit code if it has told one. Returns the lock,
    /// unless it was lost before.
    pub fn released(
        &mut self,
        now: Instant,
        client: ClientId,
        exit: Option<u8>,
    ) -> Option<HeldLock> {
        let lock = self.held.take_if(|lock| lock.client.id == client)?;
        let held = now.since(lock.since);
        if !self.is_shown && held < LONG {
            return Some(lock);
        }
        let HeldLock {
            client,
            label,
            job,
            token,
            ..
        } = &lock;
        let (pid, uid, user) = (client.pid, client.uid, client.user_name());
        let (held_ns, held) = (nanos(held), format_duration(held));
        let code = exit.map_or_else(String::new, |exit| format!(", exit code {exit}"));
        info!(
            event = "lock_released",
            label,
            job,
            pid,
            uid,
            user,
            token,
            held_ns,
            exit,
            "{label:?} ({client}) has given the token {token} back after {held}{code}"
        );
        Some(lock)
    }

    /// A client's lock has ended before it gave it back: for a reason, by its name and in words. `is_wrong`: nobody
    /// has asked for it.
    pub fn lost(
        &mut self,
        now: Instant,
        client: ClientId,
        (reason, text): (&str, &str),
        is_wrong: bool,
    ) {
        let Some(lock) = self.held.take_if(|lock| lock.client.id == client) else {
            return;
        };
        let HeldLock {
            client,
            label,
            job,
            token,
            since,
        } = lock;
        let held = now.since(since);
        if !self.is_shown && held < LONG && !self.losses.allow(now) {
            return;
        }
        let (pid, uid, user) = (client.pid, client.uid, client.user_name());
        let (held_ns, held) = (nanos(held), format_duration(held));
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    event = "lock_lost",
                    label,
                    job,
                    pid,
                    uid,
                    user,
                    token,
                    held_ns,
                    reason,
                    "{label:?} ({client}) has lost the token {token} after {held}: {text}"
                )
            };
        }
        if is_wrong {
            line!(warn);
        } else {
            line!(info);
        }
    }
}

/// How many grants got no line.
struct More(u64);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(" (1 short lock before it is not shown)"),
            locks => write!(f, " ({locks} short locks before it are not shown)"),
        }
    }
}
