//! A table of deadlines, one for each of a machine's timers.

use super::time::Instant;

/// The timers of one machine: a fieldless enum that numbers its variants from 0.
pub trait TimerKind: Copy + 'static {
    /// Every timer, in the order in which those that are due together fire.
    const ALL: &'static [Self];

    /// The timer's place in [`ALL`](Self::ALL).
    fn index(self) -> usize;
}

/// When each of `N` timers is due.
#[derive(Debug, Clone)]
pub struct Timers<const N: usize> {
    due: [Option<Instant>; N],
}

impl<const N: usize> Timers<N> {
    /// No timer is set.
    #[must_use]
    pub const fn new() -> Self {
        Self { due: [None; N] }
    }

    /// Sets a timer, whether or not it was set.
    pub fn set<K: TimerKind>(&mut self, timer: K, due: Instant) {
        self.due[timer.index()] = Some(due);
    }

    /// Stops a timer, whether or not it was set.
    pub fn stop<K: TimerKind>(&mut self, timer: K) {
        self.due[timer.index()] = None;
    }

    /// Stops all timers.
    pub fn stop_all(&mut self) {
        self.due = [None; N];
    }

    /// Whether a timer is set.
    #[must_use]
    pub fn is_set<K: TimerKind>(&self, timer: K) -> bool {
        self.due[timer.index()].is_some()
    }

    /// When a timer is due; `None`: it is not set.
    #[must_use]
    pub fn due<K: TimerKind>(&self, timer: K) -> Option<Instant> {
        self.due[timer.index()]
    }

    /// Stops a timer and says whether it was due by `now`.
    pub fn take_due<K: TimerKind>(&mut self, timer: K, now: Instant) -> bool {
        let due = &mut self.due[timer.index()];
        let is_due = due.is_some_and(|at| at <= now);
        if is_due {
            *due = None;
        }
        is_due
    }

    /// When the next timer is due.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.due.iter().flatten().min().copied()
    }
}

impl<const N: usize> Default for Timers<N> {
    fn default() -> Self {
        Self::new()
    }
}
