//! The latest events, numbered, for watchers and for hooks.

use std::collections::VecDeque;

use ring_proto::time::Now;

/// Maximum events retained, of all kinds and again of those that are news: a token's turns and granted locks come
/// too often to be retained for long.
pub const REMEMBERED: usize = 1024;

/// Who gets an event, and for how long it is retained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Everybody gets it. It is displaced by other news only.
    News,
    /// Everybody gets it. Any event displaces it.
    Passing,
    /// Who asks for routine gets it. Any event displaces it.
    Routine,
}

/// Retains events. Their numbers count up from the time of the daemon's start in microseconds since 1970, so
/// a watcher that asks for the events after a number of an earlier run gets none of this run by mistake.
#[derive(Debug)]
pub struct Recent<E> {
    events: VecDeque<E>,
    /// News, with their numbers.
    news: VecDeque<(u64, E)>,
    /// The numbers of the passing ones among `events`.
    passing: VecDeque<u64>,
    /// The number of the latest of the news that is no longer retained.
    forgotten: u64,
    /// The number of the latest event.
    latest: u64,
}

impl<E: Clone> Recent<E> {
    /// No events yet.
    pub fn new(now: Now) -> Self {
        let before_all = now.wall / 1_000;
        Self {
            events: VecDeque::with_capacity(REMEMBERED),
            news: VecDeque::with_capacity(REMEMBERED),
            passing: VecDeque::with_capacity(REMEMBERED),
            forgotten: before_all,
            latest: before_all,
        }
    }

    /// The number of the latest event.
    pub const fn latest(&self) -> u64 {
        self.latest
    }

    /// Whether all events from this number on are retained, routine included or not; without routine whether all
    /// news are.
    pub fn has(&self, from: u64, routine: bool) -> bool {
        let forgotten = if routine {
            self.latest - self.events.len() as u64
        } else {
            self.forgotten
        };
        from > forgotten && from <= self.latest + 1
    }

    /// Returns the first event with this number or a later one, and its number; routine included or not.
    pub fn next(&self, from: u64, routine: bool) -> Option<(u64, &E)> {
        if routine {
            return Some((from, self.get(from)?));
        }
        let at = self.news.partition_point(|(number, _)| *number < from);
        let news = self.news.get(at).map(|(number, event)| (*number, event));
        let at = self.passing.partition_point(|number| *number < from);
        let passing = self.passing.get(at);
        let passing = passing.and_then(|&number| Some((number, self.get(number)?)));
        news.into_iter().chain(passing).min_by_key(|found| found.0)
    }

    /// Returns an event by its number, unless it is no longer retained.
    pub fn get(&self, number: u64) -> Option<&E> {
        let first = self.latest + 1 - self.events.len() as u64;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        self.events.get(place)
    }

    /// Adds an event.
    pub fn remember(&mut self, event: E, priority: Priority) {
        self.latest += 1;
        if self.events.len() == REMEMBERED {
            self.events.pop_front();
            let first = self.latest - self.events.len() as u64;
            if self.passing.front().is_some_and(|number| *number < first) {
                self.passing.pop_front();
            }
        }
        if priority == Priority::Passing {
            self.passing.push_back(self.latest);
        }
        if priority == Priority::News {
            if self.news.len() == REMEMBERED
                && let Some((number, _)) = self.news.pop_front()
            {
                self.forgotten = number;
            }
            self.news.push_back((self.latest, event.clone()));
        }
        self.events.push_back(event);
    }
}
