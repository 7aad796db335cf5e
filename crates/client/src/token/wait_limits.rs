//! Limits of a wait for a token.

use std::time::Duration;

use ring_proto::ftn::RETRY;
use ring_proto::time::Instant;

const SESSION_DEFAULT: Duration = Duration::from_secs(10);
/// Minimum time for a session: login takes up to 50 ms, and the repetition of a lost datagram 100 ms.
const SESSION_MIN: Duration = Duration::from_millis(500);

/// Limits of a wait for a token. The protocol has no refusal: if another client holds the token, no grant comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    session: Duration,
    grant: Option<Duration>,
}

impl WaitLimits {
    /// Waits for the token without a limit, and 10 s for a session.
    pub const fn endless() -> Self {
        Self {
            session: SESSION_DEFAULT,
            grant: None,
        }
    }

    /// Gives up if the token is not granted at once: within four times RETRY after the session is live. In this time
    /// a lost datagram is repeated twice. Waits 10 s for the session.
    pub const fn none() -> Self {
        Self {
            session: SESSION_DEFAULT,
            grant: Some(Duration::ZERO),
        }
    }

    /// Gives up after `wait`, including the login. The session may take this time too, but at least 0.5 s. If it is
    /// live, the grant may take at least as long as with [`none`](Self::none).
    pub fn limited(wait: Duration) -> Self {
        Self {
            session: wait.max(SESSION_MIN),
            grant: Some(wait),
        }
    }

    /// Returns the maximum time for the session.
    pub const fn session(&self) -> Duration {
        self.session
    }

    /// Returns the maximum time until the token is granted or given up; `None` without a limit.
    pub fn total_max(&self) -> Option<Duration> {
        let grant = self.grant?;
        Some(grant.max(self.session + RETRY * 4))
    }

    /// Returns when to give up a token that was requested at `began`, in a session that is live since `live`.
    pub(super) fn grant_deadline(&self, began: Instant, live: Instant) -> Option<Instant> {
        let grant = self.grant?;
        Some((began + grant).max(live + RETRY * 4))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::WaitLimits;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_live_session_gets_four_repetitions_whatever_the_limit() {
        assert_eq!(WaitLimits::endless().grant_deadline(at(0), at(9_000)), None);
        let none = WaitLimits::none();
        assert_eq!(none.grant_deadline(at(0), at(9_000)), Some(at(9_400)));
        assert_eq!(none.total_max(), Some(Duration::from_millis(10_400)));
        let limited = WaitLimits::limited(Duration::from_secs(2));
        assert_eq!(limited.grant_deadline(at(0), at(100)), Some(at(2_000)));
        assert_eq!(limited.grant_deadline(at(0), at(1_900)), Some(at(2_300)));
        assert_eq!(limited.session(), Duration::from_secs(2));
        let short = WaitLimits::limited(Duration::ZERO);
        assert_eq!(short.session(), Duration::from_millis(500));
    }
}
