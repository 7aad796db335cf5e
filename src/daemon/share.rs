//! A share of the loop's time, for work that is not the ring's.

use std::time::Duration;

use crate::proto::time::Instant;

/// How much of that work may be done at once, if there was none for a while.
const AT_ONCE: Duration = Duration::from_millis(1);
/// One part of the time in so many is for that work.
const ONE_IN: u32 = 10;

/// Work in short bursts is done at once; what goes on gets a tenth of the time.
#[derive(Debug, Default)]
pub struct Share {
    /// How much was done and is not made up for yet, at the time of `since`.
    owed: Duration,
    since: Instant,
}

impl Share {
    /// Work was done from `start` to `end`.
    pub fn charge(&mut self, start: Instant, end: Instant) {
        let made_up = start.since(self.since) / ONE_IN;
        self.owed = self.owed.saturating_sub(made_up) + end.since(start);
        self.since = end;
    }

    /// When work may be done again; `None`: at any time.
    pub fn resume(&self) -> Option<Instant> {
        let too_much = self.owed.checked_sub(AT_ONCE)?;
        Some(self.since + too_much * (ONE_IN - 1))
    }

    /// Whether work may be done at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        self.resume().is_none_or(|resume| now >= resume)
    }
}

#[cfg(test)]
mod tests {
    use super::Share;
    use crate::proto::time::Instant;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_short_burst_is_free() {
        let at = Instant::from_nanos;
        let mut share = Share::default();
        share.charge(at(100 * MS), at(100 * MS + MS / 2));
        assert!(share.is_due(at(100 * MS + MS / 2)));
        assert_eq!(share.resume(), None);
    }

    #[test]
    fn what_goes_on_gets_a_tenth_of_the_time() {
        let at = Instant::from_nanos;
        let mut share = Share::default();
        share.charge(at(100 * MS), at(102 * MS));
        assert_eq!(share.resume(), Some(at(111 * MS)));
        assert!(!share.is_due(at(111 * MS - 1)) && share.is_due(at(111 * MS)));
        let (mut now, mut used) = (111 * MS, 0);
        while now < 10_000 * MS {
            share.charge(at(now), at(now + MS));
            used += MS;
            now = share
                .resume()
                .map_or(now + MS, Instant::as_nanos)
                .max(now + MS);
        }
        assert!((900 * MS..1_100 * MS).contains(&used), "{used}");
    }
}
