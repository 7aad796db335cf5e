//! Logs the locks of this machine. The lines contain the holder of a lock, its duration, and the reason of its end.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ring_proto::time::{Instant, nanos};
use ring_text::format_duration;
use tracing::{info, warn};

use crate::observe::RateLimit;
use crate::observe::events;
use ring_process::{Client, ClientId};

/// Rate limit of lines about granted locks. Locks may be granted thousands of times per second. The log shows a burst
/// of these lines, and then one line per second.
const GRANTS_LIMIT: RateLimit = RateLimit::new(100, Duration::from_secs(1));
/// Minimum duration of a long lock. The log contains every long lock.
const LONG_LOCK_MIN: Duration = Duration::from_secs(1);

/// A lock that is held on this machine.
#[derive(Debug, Clone)]
pub struct HeldLock {
    /// Client that holds the lock.
    pub client: Client,
    /// Name of the lock; `None` for the token.
    pub name: Option<String>,
    /// Name that the client gave itself.
    pub label: String,
    /// Job for which the client holds the lock.
    pub job: Option<String>,
    /// Fencing token of the lock.
    pub token: String,
    /// Time of the grant.
    pub since: Instant,
}

/// A log of locks. A lock has two lines: one at its grant, and one at its end.
#[derive(Debug)]
pub struct LockLog {
    grants: RateLimit,
    /// Rate limit of the lines about lost locks whose duration was less than [`LONG_LOCK_MIN`].
    losses: RateLimit,
    held: BTreeMap<ClientId, LoggedLock>,
    /// A lower bound of the next time at which an unlogged lock becomes [`LONG_LOCK_MIN`] old.
    long_from: Option<Instant>,
    /// Number of locks that were lost without the request of a user.
    wrong_losses: u64,
}

#[derive(Debug)]
struct LoggedLock {
    lock: HeldLock,
    /// Whether the log contains the grant of the lock.
    is_logged: bool,
}

/// Text for a lock: the token, or a named lock.
struct LockText<'a>(&'a HeldLock);

impl fmt::Display for LockText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeldLock { name, token, .. } = self.0;
        match name {
            Some(name) => write!(f, "the lock {name} with the token {token}"),
            None => write!(f, "the token {token}"),
        }
    }
}

impl Default for LockLog {
    /// Makes the log of a machine without a lock.
    fn default() -> Self {
        Self {
            grants: GRANTS_LIMIT,
            losses: GRANTS_LIMIT,
            held: BTreeMap::new(),
            long_from: None,
            wrong_losses: 0,
        }
    }
}

impl LockLog {
    /// Returns the lock that was granted last, if it is held.
    pub fn held(&self) -> Option<&HeldLock> {
        let locks = self.held.values().map(|it| &it.lock);
        locks.max_by_key(|lock| lock.since)
    }

    /// Returns the number of locks that were lost without the request of a user.
    pub const fn wrong_losses(&self) -> u64 {
        self.wrong_losses
    }

    /// Records a granted lock.
    pub fn on_granted(&mut self, now: Instant, lock: HeldLock) {
        let is_logged = self.grants.allow(now);
        if is_logged {
            self.log_grant(&lock);
        } else {
            // The field already has an earlier time if an older lock is not logged.
            self.long_from.get_or_insert(lock.since + LONG_LOCK_MIN);
        }
        self.held
            .insert(lock.client.id, LoggedLock { lock, is_logged });
    }

    /// Returns the time for the next call of [`log_long_locks`](Self::log_long_locks).
    pub fn deadline(&self) -> Option<Instant> {
        // After the end of all locks, the field may still contain an old time.
        self.long_from.filter(|_| !self.held.is_empty())
    }

    /// Logs the grants of all locks that have become long and are not logged yet.
    pub fn log_long_locks(&mut self, now: Instant) {
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        let is_long = |it: &LoggedLock| it.lock.since + LONG_LOCK_MIN <= now;
        let mut held = std::mem::take(&mut self.held);
        for it in held.values_mut() {
            if !it.is_logged && is_long(it) {
                it.is_logged = true;
                self.log_grant(&it.lock);
            }
        }
        let hidden = held.values().filter(|it| !it.is_logged);
        self.long_from = hidden.map(|it| it.lock.since + LONG_LOCK_MIN).min();
        self.held = held;
    }

    fn log_grant(&mut self, lock: &HeldLock) {
        let more = HiddenLocks(self.grants.take_refused());
        let (client, label, job, token) = (&lock.client, &lock.label, &lock.job, &lock.token);
        let (pid, uid, user) = (client.pid, client.uid, client.user_name());
        let client = client.with_user_name(user.as_deref());
        let (name, text) = (&lock.name, LockText(lock));
        info!(
            event = events::LOCK_GRANTED,
            name, label, job, pid, uid, user, token, "{label:?} ({client}) holds {text}{more}"
        );
    }

    /// Records that a client released its lock. `exit` is the exit code of the client's command, if the client reported
    /// one. Returns the lock, unless it was already lost.
    pub fn on_released(
        &mut self,
        now: Instant,
        client: ClientId,
        exit: Option<u8>,
    ) -> Option<HeldLock> {
        let LoggedLock { lock, is_logged } = self.held.remove(&client)?;
        let held = now.since(lock.since);
        if !is_logged && held < LONG_LOCK_MIN {
            return Some(lock);
        }
        let (client, label, job, token) = (&lock.client, &lock.label, &lock.job, &lock.token);
        let (pid, uid, user) = (client.pid, client.uid, client.user_name());
        let client = client.with_user_name(user.as_deref());
        let (held_ns, held) = (nanos(held), format_duration(held));
        let code = exit.map_or_else(String::new, |exit| format!(", exit code {exit}"));
        let (name, text) = (&lock.name, LockText(&lock));
        info!(
            event = events::LOCK_RELEASED,
            name,
            label,
            job,
            pid,
            uid,
            user,
            token,
            held_ns,
            exit,
            "{label:?} ({client}) has released {text} after {held}{code}"
        );
        Some(lock)
    }

    /// Records that a client lost its lock. The reason has a name and a text. `is_wrong` is `true` if no user requested
    /// the end of the lock.
    pub fn on_lost(
        &mut self,
        now: Instant,
        client: ClientId,
        (reason, text): (&str, &str),
        is_wrong: bool,
    ) {
        let Some(LoggedLock { lock, is_logged }) = self.held.remove(&client) else {
            return;
        };
        self.wrong_losses += u64::from(is_wrong);
        let text_of_lock = LockText(&lock);
        let HeldLock {
            client,
            name,
            label,
            job,
            token,
            since,
        } = &lock;
        let held = now.since(*since);
        if !is_logged && held < LONG_LOCK_MIN && !self.losses.allow(now) {
            return;
        }
        let (pid, uid, user) = (client.pid, client.uid, client.user_name());
        let client = client.with_user_name(user.as_deref());
        let (held_ns, held) = (nanos(held), format_duration(held));
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    event = events::LOCK_LOST,
                    name,
                    label,
                    job,
                    pid,
                    uid,
                    user,
                    token,
                    held_ns,
                    reason,
                    "{label:?} ({client}) has lost {text_of_lock} after {held}: {text}"
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

/// Number of grants that were not logged.
struct HiddenLocks(u64);

impl fmt::Display for HiddenLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(" (1 earlier short lock was not shown)"),
            locks => write!(f, " ({locks} earlier short locks were not shown)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_process::Client;
    use ring_proto::time::Instant;

    use super::{HeldLock, LONG_LOCK_MIN, LockLog};

    fn grant(log: &mut LockLog, id: u64, since: Instant) {
        let lock = HeldLock {
            client: Client::gone(id),
            name: None,
            label: String::new(),
            job: None,
            token: String::new(),
            since,
        };
        log.on_granted(since, lock);
    }

    #[test]
    fn only_held_locks_without_a_line_have_a_deadline() {
        let mut log = LockLog::default();
        let at = |millis| Instant::from_nanos(1) + Duration::from_millis(millis);
        for id in 0..100 {
            grant(&mut log, id, at(0));
        }
        assert_eq!(log.deadline(), None, "the log has their lines");
        grant(&mut log, 100, at(1));
        grant(&mut log, 101, at(3));
        assert_eq!(log.deadline(), Some(at(1) + LONG_LOCK_MIN));
        log.on_released(at(5), 100, None);
        log.log_long_locks(at(1) + LONG_LOCK_MIN);
        assert_eq!(log.deadline(), Some(at(3) + LONG_LOCK_MIN));
        log.log_long_locks(at(3) + LONG_LOCK_MIN);
        assert_eq!(log.deadline(), None);
        grant(&mut log, 102, at(3) + LONG_LOCK_MIN);
        for id in 0..103 {
            log.on_released(at(3) + LONG_LOCK_MIN, id, None);
        }
        assert_eq!(log.deadline(), None);
    }
}
