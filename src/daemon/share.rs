//! A share of the loop's time, for work that is not the ring's.

use crate::proto::time::Instant;

/// Work that took a while is done again only after nine times as long, so that it never takes
/// more than a tenth of the time.
#[derive(Debug, Default)]
pub struct Share {
    resume: Option<Instant>,
}

impl Share {
    /// Work was done from `start` to `end`.
    pub fn charge(&mut self, start: Instant, end: Instant) {
        self.resume = Some(end + end.since(start) * 9);
    }

    /// When work may be done again; `None`: at any time.
    pub const fn resume(&self) -> Option<Instant> {
        self.resume
    }

    /// Whether work may be done at `now`.
    pub fn is_due(&mut self, now: Instant) -> bool {
        if self.resume.is_some_and(|resume| now < resume) {
            return false;
        }
        self.resume = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Share;
    use crate::proto::time::Instant;

    #[test]
    fn work_gets_a_tenth_of_the_time() {
        let at = Instant::from_nanos;
        let mut share = Share::default();
        assert!(share.is_due(at(0)));
        share.charge(at(100), at(200));
        assert_eq!(share.resume(), Some(at(1100)));
        assert!(!share.is_due(at(1099)));
        assert!(share.is_due(at(1100)));
        assert_eq!(share.resume(), None);
    }
}
