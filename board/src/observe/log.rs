//! The log of events, one line per event.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::andrews::Event;
use ring_proto::time::Instant;

use super::describe::{Keys, is_routine};

/// The limit for log lines about the token. Each hop causes such lines.
const TOKEN_LINES: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// The limit for log lines about dropped frames. Anyone can send such frames.
const DROP_LINES: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// A log that prints one line per event through `tracing`, and limits the number of lines.
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

    /// Sets whether the log also shows hops of the token and dropped frames.
    pub(crate) const fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    /// Decides whether the log prints a line for this event, and returns `None` if the log prints no line. If the log
    /// prints a line, returns the number of omitted lines since the last printed line.
    pub(crate) fn admit(&mut self, now: Instant, event: &Event) -> Option<u64> {
        let limit = match event {
            Event::Dropped { .. } => self.verbose.then_some(&mut self.drop_lines)?,
            event if is_routine(event) => self.verbose.then_some(&mut self.token_lines)?,
            _ => return Some(0),
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Prints the line of an event. `hidden` is the number of omitted lines since the last printed line.
pub(crate) fn print(line: &Line<Keys>, hidden: u64) {
    let node = line.keys.node;
    print_line!(line, hidden, node);
}
