//! The latest events with their numbers. Watchers and hooks get these events.

use std::collections::VecDeque;

use ring_proto::time::Now;

/// Maximum number of retained events. Frequent events, such as hops of the token, displace other events quickly. So a
/// second collection retains the same number of events with the priority `News`.
pub const RETAINED_EVENTS_MAX: usize = 1024;

/// The priority of an event. The priority decides who receives an event and how long the event is retained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// An event for all receivers. Only later events with this priority displace the event.
    News,
    /// An event for all receivers. Any later event displaces the event.
    Passing,
    /// An event only for watchers that requested routine events. Any later event displaces the event.
    Routine,
}

/// The retained events. The first number is the time of the daemon's start, in microseconds since 1970, and the numbers
/// grow by 1. So two runs of a daemon never use the same number. A watcher that asks for events after a number of an
/// earlier run gets no wrong events.
#[derive(Debug)]
pub struct Recent<E> {
    events: VecDeque<E>,
    /// News with their numbers.
    news: VecDeque<(u64, E)>,
    /// Numbers of the events with the priority `Passing` in `events`.
    passing: VecDeque<u64>,
    /// Number of the newest event that is no longer stored.
    last_forgotten: u64,
    latest: u64,
}

impl<E: Clone> Recent<E> {
    /// Makes an empty collection.
    pub fn new(now: Now) -> Self {
        let before_all = now.wall / 1_000;
        Self {
            events: VecDeque::with_capacity(RETAINED_EVENTS_MAX),
            news: VecDeque::with_capacity(RETAINED_EVENTS_MAX),
            passing: VecDeque::with_capacity(RETAINED_EVENTS_MAX),
            last_forgotten: before_all,
            latest: before_all,
        }
    }

    /// Returns the number of the latest event.
    pub const fn latest(&self) -> u64 {
        self.latest
    }

    /// Whether all events with the number `from` or a larger number are retained. If `routine` is `false`, checks only
    /// the events with the priority `News`.
    pub fn retains_from(&self, from: u64, routine: bool) -> bool {
        let last_forgotten = if routine {
            self.latest - self.events.len() as u64
        } else {
            self.last_forgotten
        };
        from > last_forgotten && from <= self.latest + 1
    }

    /// Returns the first event whose number is `from` or larger, and the event's number. With `routine`, the event may
    /// have any priority.
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

    /// Returns the event with this number, if it is still stored.
    pub fn get(&self, number: u64) -> Option<&E> {
        let first = self.latest + 1 - self.events.len() as u64;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        self.events.get(place)
    }

    /// Adds an event.
    pub fn remember(&mut self, event: E, priority: Priority) {
        self.latest += 1;
        if self.events.len() == RETAINED_EVENTS_MAX {
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
            if self.news.len() == RETAINED_EVENTS_MAX
                && let Some((number, _)) = self.news.pop_front()
            {
                self.last_forgotten = number;
            }
            self.news.push_back((self.latest, event.clone()));
        }
        self.events.push_back(event);
    }
}
