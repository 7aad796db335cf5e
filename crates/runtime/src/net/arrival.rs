//! The age of received messages, from the kernel's timestamps.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

use crate::clock;

/// A lower bound for the arrival times of all messages in a socket's queue.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// When the queue was last empty: no message in it is older.
    emptied: Instant,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self {
            emptied: clock::now().monotonic,
        }
    }

    pub(super) fn on_emptied(&mut self, now: Now) {
        self.emptied = now.monotonic;
    }

    /// Returns the age of a message that the kernel received at `since` 1970, and the time at which it has that age.
    pub(super) fn age(&self, now: Now, since: Duration) -> (Now, Duration) {
        // The process may have been stalled since the clocks were read. A message that came in that time may be old
        // already, and a member's promise must count at least from the message's arrival.
        let now = match Duration::from_nanos(now.wall) {
            wall if wall < since => clock::now(),
            _ => now,
        };
        // If the wall clock was set forward, a new message would look old.
        let longest = now.monotonic.since(self.emptied);
        let age = Duration::from_nanos(now.wall).saturating_sub(since);
        (now, age.min(longest))
    }
}
