//! A log line an event.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::andrews::Event;
use ring_proto::time::Instant;

use super::telling::{Keys, is_routine};

/// Turns of the token.
const TURNS: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// Dropped frames.
const DROPS: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Prints a line an event through `tracing`, and limits how many.
#[derive(Debug)]
pub(crate) struct Log {
    verbose: bool,
    turns: RateLimit,
    drops: RateLimit,
}

impl Log {
    /// If `verbose`, turns of the token are told too, and why frames are dropped.
    pub(crate) const fn new(verbose: bool) -> Self {
        Self {
            verbose,
            turns: TURNS,
            drops: DROPS,
        }
    }

    /// Whether a line is to be printed for an event, and how many before it were not.
    pub(crate) fn admit(&mut self, now: Instant, event: &Event) -> Option<u64> {
        let limit = match event {
            Event::Dropped { .. } => self.verbose.then_some(&mut self.drops)?,
            event if is_routine(event) => self.verbose.then_some(&mut self.turns)?,
            _ => return Some(0),
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Prints the line of an event, `hidden` being how many before it were not printed.
pub(crate) fn print(line: &Line<Keys>, hidden: u64) {
    let node = line.keys.node;
    print_line!(line, hidden, node);
}
