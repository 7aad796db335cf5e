//! The latest events, numbered, for watchers and for hooks.

use std::collections::VecDeque;

use ring_proto::time::Now;

/// Maximum events retained, of all kinds and again of those that are not routine: a token's turns come too
/// often to be retained for long.
pub const REMEMBERED: usize = 1024;

/// Retains events. Their numbers count up from the time of the daemon's start in microseconds since 1970, so
/// a watcher that asks for the events after a number of an earlier run gets none of this run by mistake.
#[derive(Debug)]
pub struct Recent<E> {
    events: VecDeque<E>,
    /// Events that are not routine, with their numbers.
    news: VecDeque<(u64, E)>,
    /// The number of the latest of these that is no longer retained.
    forgotten: u64,
    /// The number of the latest event.
    latest: u64,
}

impl<E: Clone> Recent<E> {
    /// No events yet.
    #[must_use]
    pub fn new(now: Now) -> Self {
        let before_all = now.wall / 1_000;
        Self {
            events: VecDeque::with_capacity(REMEMBERED),
            news: VecDeque::with_capacity(REMEMBERED),
            forgotten: before_all,
            latest: before_all,
        }
    }

    /// The number of the latest event.
    #[must_use]
    pub const fn latest(&self) -> u64 {
        self.latest
    }

    /// Whether all events from this number on are retained, routine included or not.
    #[must_use]
    pub fn has(&self, from: u64, routine: bool) -> bool {
        let forgotten = if routine {
            self.latest - self.events.len() as u64
        } else {
            self.forgotten
        };
        from > forgotten && from <= self.latest + 1
    }

    /// Returns the first event with this number or a later one, and its number; routine included or not.
    #[must_use]
    pub fn next(&self, from: u64, routine: bool) -> Option<(u64, &E)> {
        if routine {
            return Some((from, self.get(from)?));
        }
        let at = self.news.partition_point(|(number, _)| *number < from);
        let (number, event) = self.news.get(at)?;
        Some((*number, event))
    }

    /// Returns an event by its number, unless it is no longer retained.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&E> {
        let first = self.latest + 1 - self.events.len() as u64;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        self.events.get(place)
    }

    /// Adds an event.
    pub fn remember(&mut self, event: E, routine: bool) {
        self.latest += 1;
        if !routine {
            if self.news.len() == REMEMBERED
                && let Some((number, _)) = self.news.pop_front()
            {
                self.forgotten = number;
            }
            self.news.push_back((self.latest, event.clone()));
        }
        if self.events.len() == REMEMBERED {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}
