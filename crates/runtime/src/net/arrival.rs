//! The age of received messages, from the kernel's timestamps.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

use crate::clock;

/// A lower bound for the arrival times of all messages in a socket's queue.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Time at which the queue was last empty. Every message in the queue arrived after the queue was last empty.
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

    /// Returns a time and the age of a message at that time. The kernel received the message at the time `since`,
    /// counted from the start of 1970.
    pub(super) fn age(&self, now: Now, since: Duration) -> (Now, Duration) {
        // The process may have been stalled after it read the clocks. A message that arrived in that time may already
        // be old, but a member's promise must not count from before the message's arrival.
        let now = match Duration::from_nanos(now.wall) {
            wall if wall < since => clock::now(),
            _ => now,
        };
        // Without this limit, a new message would look old after a jump of the wall clock.
        let longest = now.monotonic.since(self.emptied);
        let age = Duration::from_nanos(now.wall).saturating_sub(since);
        (now, age.min(longest))
    }
}
