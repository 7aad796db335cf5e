//! How long a program waits for a token.

use std::time::Duration;

use ring_proto::ftn::RETRY;
use ring_proto::time::Instant;

/// Time for a session where no other limit is given.
const SESSION: Duration = Duration::from_secs(10);
/// The least time for a session: login takes up to 50 ms, and a lost datagram 100 ms.
const SESSION_AT_LEAST: Duration = Duration::from_millis(500);

/// How long a program waits for a token. There is no refusal in the protocol: that a token is held by another client
/// shows only in that no grant comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    session: Duration,
    grant: Option<Duration>,
}

impl WaitLimits {
    /// Waits for the token without end, and 10 s for a session.
    pub const fn endless() -> Self {
        Self {
            session: SESSION,
            grant: None,
        }
    }

    /// Gives up if the token is not granted at once: within four times RETRY of a live session, in which a lost
    /// datagram is repeated twice. Waits 10 s for the session.
    pub const fn none() -> Self {
        Self {
            session: SESSION,
            grant: Some(Duration::ZERO),
        }
    }

    /// Gives up after `wait`, login included. A session that takes longer than that, or than 0.5 s, is not waited for;
    /// one that is live gets what [`none`](Self::none) gives at least.
    pub fn limited(wait: Duration) -> Self {
        Self {
            session: wait.max(SESSION_AT_LEAST),
            grant: Some(wait),
        }
    }

    /// How long a session may take.
    pub const fn session(&self) -> Duration {
        self.session
    }

    /// The longest time until the token is granted or given up; `None`: there is none.
    pub fn longest(&self) -> Option<Duration> {
        let grant = self.grant?;
        Some(grant.max(self.session + RETRY * 4))
    }

    /// When to give up a token that was wanted at `began`, in a session that is live since `live`.
    pub(super) fn grant_by(&self, began: Instant, live: Instant) -> Option<Instant> {
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
        assert_eq!(WaitLimits::endless().grant_by(at(0), at(9_000)), None);
        let none = WaitLimits::none();
        assert_eq!(none.grant_by(at(0), at(9_000)), Some(at(9_400)));
        assert_eq!(none.longest(), Some(Duration::from_millis(10_400)));
        let limited = WaitLimits::limited(Duration::from_secs(2));
        assert_eq!(limited.grant_by(at(0), at(100)), Some(at(2_000)));
        assert_eq!(limited.grant_by(at(0), at(1_900)), Some(at(2_300)));
        assert_eq!(limited.session(), Duration::from_secs(2));
        let short = WaitLimits::limited(Duration::ZERO);
        assert_eq!(short.session(), Duration::from_millis(500));
    }
}
