//! How long ago the kernel has received something, by its stamp.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

use crate::clock;

/// What is known of a socket's queue.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// When it was last known to be empty: nothing in it is older.
    emptied: Instant,
}

impl Arrivals {
    /// Of a queue that has just been made.
    pub(super) fn new() -> Self {
        Self {
            emptied: clock::now().monotonic,
        }
    }

    /// The queue is empty.
    pub(super) fn emptied(&mut self, now: Now) {
        self.emptied = now.monotonic;
    }

    /// How long ago, at a time that is returned with it, something came that has come `since` 1970.
    pub(super) fn age(&self, now: Now, since: Duration) -> (Now, Duration) {
        // What came after the clocks were read may have found the process stopped since then,
        // and be old all the same. What a member promises must count from when it came, at least.
        let now = match Duration::from_nanos(now.wall) {
            wall if wall < since => clock::now(),
            _ => now,
        };
        // A wall clock that was set forward would make what is fresh look old.
        let longest = now.monotonic.since(self.emptied);
        let age = Duration::from_nanos(now.wall).saturating_sub(since);
        (now, age.min(longest))
    }
}
