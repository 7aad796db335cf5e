//! The log of events, one line per event.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::andrews::Event;
use ring_proto::time::Instant;

use super::describe::{Keys, is_routine};

/// Limits the lines about the token, which come with each hop.
const TOKEN_LINES: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// Limits the lines about dropped frames, which anyone can cause.
const DROP_LINES: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Prints one line per event through `tracing`, and limits how many.
#[derive(Debug)]
pub(crate) struct Log {
    verbose: bool,
    token_lines: RateLimit,
    drop_lines: RateLimit,
}

impl Log {
    /// Creates the log. If `verbose`, it also shows hops of the token and dropped frames.
    pub(crate) const fn new(verbose: bool) -> Self {
        Self {
            verbose,
            token_lines: TOKEN_LINES,
            drop_lines: DROP_LINES,
        }
    }

    /// Decides whether a line is printed for an event. Returns how many lines were left out before it, or `None`.
    pub(crate) fn admit(&mut self, now: Instant, event: &Event) -> Option<u64> {
        let limit = match event {
            Event::Dropped { .. } => self.verbose.then_some(&mut self.drop_lines)?,
            event if is_routine(event) => self.verbose.then_some(&mut self.token_lines)?,
            _ => return Some(0),
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Prints the line of an event. `hidden` lines were left out before it.
pub(crate) fn print(line: &Line<Keys>, hidden: u64) {
    let node = line.keys.node;
    print_line!(line, hidden, node);
}
