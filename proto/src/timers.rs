//! A table of deadlines, with one deadline for each timer of a machine.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::time::Instant;

/// The timers of one state machine. The type is an enum without fields, whose variants are numbered from 0.
pub trait TimerKind: Copy + 'static {
    /// All timers. If several timers are due at the same time, they fire in the order of this list.
    const ALL: &'static [Self];

    /// Returns the place of the timer in [`ALL`](Self::ALL).
    fn index(self) -> usize;
}

/// The deadline of a timer that is not set. No clock reaches it.
const NEVER: u64 = u64::MAX;

/// The deadlines of `N` timers.
#[derive(Debug, Clone)]
pub struct Timers<const N: usize> {
    // The deadlines are integers instead of options, because the minimum of integers needs no branch.
    due: [u64; N],
}

impl<const N: usize> Timers<N> {
    /// Returns a table in which no timer is set.
    pub const fn new() -> Self {
        Self { due: [NEVER; N] }
    }

    /// Sets a timer. If the timer was already set, the new deadline replaces the old deadline.
    pub fn set<K: TimerKind>(&mut self, timer: K, due: Instant) {
        // A sum of times saturates. Such a deadline must not look like a timer that is not set.
        self.due[timer.index()] = due.as_nanos().min(NEVER - 1);
    }

    /// Stops a timer if it is set.
    pub fn stop<K: TimerKind>(&mut self, timer: K) {
        self.due[timer.index()] = NEVER;
    }

    /// Stops all timers.
    pub fn stop_all(&mut self) {
        self.due = [NEVER; N];
    }

    /// Stops all timers except the timers for which `keeps_running` returns `true`.
    pub fn retain<K: TimerKind>(&mut self, keeps_running: impl Fn(K) -> bool) {
        for &timer in K::ALL {
            if !keeps_running(timer) {
                self.stop(timer);
            }
        }
    }

    /// Whether a timer is set.
    pub fn is_set<K: TimerKind>(&self, timer: K) -> bool {
        self.due[timer.index()] != NEVER
    }

    /// Returns the time at which a timer is due, or `None` if it is not set.
    pub fn due<K: TimerKind>(&self, timer: K) -> Option<Instant> {
        instant(self.due[timer.index()])
    }

    /// Stops a timer if it is due at `now`. Returns whether the timer was due.
    pub fn take_due<K: TimerKind>(&mut self, timer: K, now: Instant) -> bool {
        let due = &mut self.due[timer.index()];
        let is_due = *due != NEVER && *due <= now.as_nanos();
        if is_due {
            *due = NEVER;
        }
        is_due
    }

    /// Returns the time at which the next timer is due, or `None` if no timer is set.
    pub fn next(&self) -> Option<Instant> {
        instant(self.due.iter().copied().min().unwrap_or(NEVER))
    }
}

fn instant(due: u64) -> Option<Instant> {
    (due != NEVER).then(|| Instant::from_nanos(due))
}

impl<const N: usize> Serialize for Timers<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.due.as_slice().serialize(serializer)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Timers<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let due: Vec<u64> = Deserialize::deserialize(deserializer)?;
        let count = due.len();
        let wrong = |_| D::Error::invalid_length(count, &format!("{N} timers").as_str());
        let due = due.try_into().map_err(wrong)?;
        Ok(Self { due })
    }
}

impl<const N: usize> Default for Timers<N> {
    fn default() -> Self {
        Self::new()
    }
}
