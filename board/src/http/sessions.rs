//! The sessions of browsers. A restart of the node ends all sessions.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring_runtime::random_bytes;
use tokio::sync::watch;

/// Maximum number of sessions. A login beyond the maximum ends the session that was unused for the longest time.
pub(super) const SESSIONS_MAX: usize = 256;
/// Without a use, a session ends after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// A session ends after this time, even if a browser uses it.
const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// A live view waits for the end of its session on this channel.
pub(super) type SessionEnd = watch::Receiver<()>;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// The sessions, by id.
    all: Mutex<HashMap<String, Session>>,
}

#[derive(Debug)]
struct Session {
    begin: Instant,
    last_use: Instant,
    /// Dropping the sender ends the live views of the session.
    end: watch::Sender<()>,
}

impl Session {
    fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begin) < LIFETIME
            && now.saturating_duration_since(self.last_use) < IDLE_TIMEOUT
    }
}

impl Sessions {
    fn all(&self, now: Instant) -> MutexGuard<'_, HashMap<String, Session>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.is_alive(now));
        all
    }

    /// Begins a session, and returns its new id.
    ///
    /// # Errors
    /// Fails if the kernel has no random bytes.
    pub(super) fn begin(&self, now: Instant) -> io::Result<String> {
        let mut id = String::new();
        for byte in random_bytes::<32>()? {
            // A write to a string never fails.
            let _ = write!(id, "{byte:02x}");
        }
        let mut all = self.all(now);
        while all.len() >= SESSIONS_MAX {
            let unused = all.iter().min_by_key(|(_, session)| session.last_use);
            let Some(unused) = unused.map(|(id, _)| id.clone()) else {
                break;
            };
            all.remove(&unused);
        }
        let session = Session {
            begin: now,
            last_use: now,
            end: watch::Sender::new(()),
        };
        all.insert(id.clone(), session);
        Ok(id)
    }

    /// Returns the end of the session with this id, or `None` if there is no such session. Requests that a page makes
    /// by itself are no use of the session.
    pub(super) fn find(&self, id: &str, is_use: bool, now: Instant) -> Option<SessionEnd> {
        let mut all = self.all(now);
        let session = all.get_mut(id)?;
        if is_use {
            session.last_use = now;
        }
        Some(session.end.subscribe())
    }

    pub(super) fn end(&self, id: &str, now: Instant) {
        self.all(now).remove(id);
    }

    /// Ends the sessions whose time is over, together with their live views.
    pub(super) fn end_old(&self, now: Instant) {
        drop(self.all(now));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{IDLE_TIMEOUT, LIFETIME, SESSIONS_MAX, Sessions};

    #[test]
    fn a_session_lasts_while_it_is_used_but_not_longer_than_its_lifetime() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let [used, watched] = [(); 2].map(|()| sessions.begin(start).unwrap());
        assert_eq!(used.len(), 64);
        assert_ne!(used, watched);
        let step = IDLE_TIMEOUT / 2;
        let alive = |id: &str, is_use, now| sessions.find(id, is_use, now).is_some();
        let mut now = start;
        while now + step < start + LIFETIME {
            now += step;
            assert!(alive(&used, true, now), "{:?}", now - start);
            // A page that only stays open does not use its session.
            assert_eq!(alive(&watched, false, now), now < start + IDLE_TIMEOUT);
        }
        assert!(!alive(&used, true, start + LIFETIME));
        assert!(!alive("", true, start) && !alive("x", true, start));
    }

    #[test]
    fn an_ended_session_ends_its_live_views() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let [first, second] = [(); 2].map(|()| sessions.begin(now).unwrap());
        let ends = [&first, &second].map(|id| sessions.find(id, false, now).unwrap());
        sessions.end(&first, now);
        assert!(sessions.find(&first, true, now).is_none());
        assert_eq!(
            ends.clone().map(|end| end.has_changed().is_err()),
            [true, false]
        );
        sessions.end_old(now + IDLE_TIMEOUT / 2);
        assert!(ends[1].has_changed().is_ok());
        sessions.end_old(now + IDLE_TIMEOUT);
        assert!(ends[1].has_changed().is_err());
    }

    #[test]
    fn a_login_too_many_ends_the_session_that_was_unused_for_the_longest_time() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        let ids: Vec<_> = (0..SESSIONS_MAX as u64)
            .map(|at| sessions.begin(later(at)).unwrap())
            .collect();
        let now = later(1_000);
        assert!(sessions.find(&ids[0], true, now).is_some());
        let last = sessions.begin(now).unwrap();
        for (at, id) in ids.iter().chain([&last]).enumerate() {
            let is_alive = sessions.find(id, false, now).is_some();
            assert_eq!(is_alive, at != 1, "session {at}");
        }
    }
}
