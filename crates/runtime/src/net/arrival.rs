//! The age of received messages, from the kernel's timestamps.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

use crate::clock;

/// A lower bound for the arrival times of the messages in a socket's queue.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// The last time at which the queue was empty. Every message in the queue arrived after this time.
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

    /// Returns the time at which the machine should handle a message, and the age of the message at that time. The
    /// kernel received the message at `since`, which is a time since 1970.
    pub(super) fn age(&self, now: Now, since: Duration) -> (Now, Duration) {
        // The process may have been stalled after it read the clocks, and the message may have arrived during the
        // stall. So read the clocks again: the machine must not handle a message at a time before its arrival.
        let now = match Duration::from_nanos(now.wall) {
            wall if wall < since => clock::now(),
            _ => now,
        };
        // After a jump of the wall clock, a new message would look old without this limit.
        let longest = now.monotonic.since(self.emptied);
        let age = Duration::from_nanos(now.wall).saturating_sub(since);
        (now, age.min(longest))
    }
}
