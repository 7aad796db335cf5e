//! Limits of a wait for a token.

use std::time::Duration;

use ring_proto::ftn::RETRY;
use ring_proto::time::Instant;

const SESSION_DEFAULT: Duration = Duration::from_secs(10);
/// Minimum time to wait for a session. A login takes up to 50 ms. A lost datagram is repeated after 100 ms.
const SESSION_MIN: Duration = Duration::from_millis(500);

/// Limits of a wait for a token. The limits are necessary because the protocol cannot refuse a token: while another
/// client holds the token, the servers send no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    session: Duration,
    grant: Option<Duration>,
}

impl WaitLimits {
    /// Returns limits for a request that waits at most 10 s for the session, and then waits for the token without a
    /// limit.
    pub const fn endless() -> Self {
        Self {
            session: SESSION_DEFAULT,
            grant: None,
        }
    }

    /// Returns limits for a request that does not wait for other holders. The session must be live within 10 s. After
    /// the session becomes live, the token must be granted within four times RETRY. Four times RETRY suffice to repeat
    /// a lost datagram twice.
    pub const fn none() -> Self {
        Self {
            session: SESSION_DEFAULT,
            grant: Some(Duration::ZERO),
        }
    }

    /// Returns limits for a wait that ends after `wait`. This time includes the wait for the session. The limit for the
    /// session is at least 0.5 s. After the session becomes live, the limit for the grant is at least the limit of
    /// [`none`](Self::none).
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

    /// Returns the maximum time until the token is granted or the client gives up. Returns `None` if the client waits
    /// without a limit.
    pub fn total_max(&self) -> Option<Duration> {
        let grant = self.grant?;
        Some(grant.max(self.session + RETRY * 4))
    }

    /// Returns the time until which the client waits for a token. The wait began at `began`, and the session became
    /// live at `live`.
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
