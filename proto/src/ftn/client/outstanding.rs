//! REQUESTs and RETURNs that await an answer, by number, and when each is repeated (`docs/ftn.md`, section 1).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::Backoff;
use crate::ftn::{RETRY, RETRY_MAX};
use crate::time::Instant;

/// Due before anything else, at the end of the very call that has made it.
pub(super) const AT_ONCE: Instant = Instant::from_nanos(0);

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Which {
    /// REQUEST of a token.
    Request,
    /// RETURN of a token.
    Return,
    /// REQUEST for this server's listing; the name is that after which it begins.
    List(usize),
}

/// A message that awaits an answer.
#[derive(Debug, Clone, Hash)]
pub(super) struct Entry {
    pub(super) name: Box<[u8]>,
    pub(super) which: Which,
    due: Instant,
    /// `None`: it was not sent yet, or not to its present server.
    backoff: Option<Backoff>,
}

/// All of a session's messages that await an answer.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Outstanding {
    by_number: BTreeMap<i64, Entry>,
    by_due: BTreeSet<(Instant, i64)>,
}

impl Outstanding {
    /// A new message: it is sent at once, and then again and again.
    pub(super) fn begin(&mut self, number: i64, name: Box<[u8]>, which: Which) {
        let entry = Entry {
            name,
            which,
            due: AT_ONCE,
            backoff: None,
        };
        self.by_number.insert(number, entry);
        self.by_due.insert((AT_ONCE, number));
    }

    /// It was answered, or is given up.
    pub(super) fn end(&mut self, number: i64) -> Option<Entry> {
        let entry = self.by_number.remove(&number)?;
        self.by_due.remove(&(entry.due, number));
        Some(entry)
    }

    /// It goes to a new server: at once, and RETRY begins again.
    pub(super) fn restart(&mut self, number: i64) {
        if let Some(entry) = self.end(number) {
            self.begin(number, entry.name, entry.which);
        }
    }

    pub(super) fn get(&self, number: i64) -> Option<&Entry> {
        self.by_number.get(&number)
    }

    /// All of them, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &Entry)> {
        self.by_number
            .iter()
            .map(|(&number, entry)| (number, entry))
    }

    /// Whether each has its place in the order in which they are due.
    #[cfg(debug_assertions)]
    pub(super) fn is_sound(&self) -> bool {
        let mut all = self
            .by_number
            .iter()
            .map(|(&number, entry)| (entry.due, number));
        self.by_due.len() == self.by_number.len() && all.all(|place| self.by_due.contains(&place))
    }

    /// When the next one is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.by_due.first().map(|&(due, _)| due)
    }

    /// The next one that is due by `limit`; it counts as sent `now`.
    pub(super) fn take_due(&mut self, now: Instant, limit: Instant) -> Option<(i64, &Entry)> {
        let range = (Bound::Unbounded, Bound::Included((limit, i64::MAX)));
        let &(due, number) = self.by_due.range(range).next()?;
        self.by_due.remove(&(due, number));
        let entry = self.by_number.get_mut(&number)?;
        let backoff = match entry.backoff {
            None => Backoff::new(now, RETRY),
            Some(mut backoff) => {
                backoff.repeated(now, RETRY_MAX);
                backoff
            }
        };
        entry.backoff = Some(backoff);
        entry.due = backoff.due();
        self.by_due.insert((entry.due, number));
        Some((number, entry))
    }
}

#[cfg(test)]
mod tests {
    impl super::Outstanding {
        pub(in crate::ftn::client) fn spoil(&mut self) {
            self.by_due.clear();
        }
    }
}
