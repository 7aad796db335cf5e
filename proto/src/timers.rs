//! A table of deadlines, one for each of a machine's timers.

use super::time::Instant;

/// Timers of one state machine: an enum without fields that numbers its variants from 0.
pub trait TimerKind: Copy + 'static {
    /// All timers. Timers that are due together fire in this order.
    const ALL: &'static [Self];

    /// Returns the timer's place in [`ALL`](Self::ALL).
    fn index(self) -> usize;
}

/// Time of a timer that is not set; no clock reaches it.
const NEVER: u64 = u64::MAX;

/// Deadlines of `N` timers.
#[derive(Debug, Clone)]
pub struct Timers<const N: usize> {
    // Integers, because their minimum is found without a branch.
    due: [u64; N],
}

impl<const N: usize> Timers<N> {
    /// Returns a table in which no timer is set.
    pub const fn new() -> Self {
        Self { due: [NEVER; N] }
    }

    /// Sets a timer, and replaces its earlier deadline.
    pub fn set<K: TimerKind>(&mut self, timer: K, due: Instant) {
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

    /// Stops all timers for which `goes_on` returns `false`.
    pub fn retain<K: TimerKind>(&mut self, goes_on: impl Fn(K) -> bool) {
        for &timer in K::ALL {
            if !goes_on(timer) {
                self.stop(timer);
            }
        }
    }

    /// Whether a timer is set.
    pub fn is_set<K: TimerKind>(&self, timer: K) -> bool {
        self.due[timer.index()] != NEVER
    }

    /// Returns when a timer is due, or `None` if it is not set.
    pub fn due<K: TimerKind>(&self, timer: K) -> Option<Instant> {
        instant(self.due[timer.index()])
    }

    /// Stops a timer if it was due by `now`, and returns whether it was.
    pub fn take_due<K: TimerKind>(&mut self, timer: K, now: Instant) -> bool {
        let due = &mut self.due[timer.index()];
        let is_due = *due != NEVER && *due <= now.as_nanos();
        if is_due {
            *due = NEVER;
        }
        is_due
    }

    /// Returns when the next timer is due.
    pub fn next(&self) -> Option<Instant> {
        instant(self.due.iter().copied().min().unwrap_or(NEVER))
    }
}

fn instant(due: u64) -> Option<Instant> {
    (due != NEVER).then(|| Instant::from_nanos(due))
}

impl<const N: usize> Default for Timers<N> {
    fn default() -> Self {
        Self::new()
    }
}
