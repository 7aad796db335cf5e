//! A table of deadlines, one for each of a machine's timers.

use super::time::Instant;

/// The timers of one machine: a fieldless enum that numbers its variants from 0.
pub trait TimerKind: Copy + 'static {
    /// Every timer, in the order in which those that are due together fire.
    const ALL: &'static [Self];

    /// The timer's place in [`ALL`](Self::ALL).
    fn index(self) -> usize;
}

/// A timer that is not set. No clock comes so far.
const NEVER: u64 = u64::MAX;

/// When each of `N` timers is due.
#[derive(Debug, Clone)]
pub struct Timers<const N: usize> {
    /// In nanoseconds, so that the least of them is found without a branch.
    due: [u64; N],
}

impl<const N: usize> Timers<N> {
    /// No timer is set.
    pub const fn new() -> Self {
        Self { due: [NEVER; N] }
    }

    /// Sets a timer, whether or not it was set.
    pub fn set<K: TimerKind>(&mut self, timer: K, due: Instant) {
        self.due[timer.index()] = due.as_nanos().min(NEVER - 1);
    }

    /// Stops a timer, whether or not it was set.
    pub fn stop<K: TimerKind>(&mut self, timer: K) {
        self.due[timer.index()] = NEVER;
    }

    /// Stops all timers.
    pub fn stop_all(&mut self) {
        self.due = [NEVER; N];
    }

    /// Stops all timers but those that are to go on.
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

    /// When a timer is due; `None`: it is not set.
    pub fn due<K: TimerKind>(&self, timer: K) -> Option<Instant> {
        instant(self.due[timer.index()])
    }

    /// Stops a timer and says whether it was due by `now`.
    pub fn take_due<K: TimerKind>(&mut self, timer: K, now: Instant) -> bool {
        let due = &mut self.due[timer.index()];
        let is_due = *due != NEVER && *due <= now.as_nanos();
        if is_due {
            *due = NEVER;
        }
        is_due
    }

    /// When the next timer is due.
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
