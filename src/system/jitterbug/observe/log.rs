//! Logs each event as one line.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::time::Instant;
use tracing::field::display;

use super::describe::{EventRate, Keys};

/// The limit for failures that repeat with each turn.
const FAILURES_LIMIT: RateLimit = RateLimit::new(5, Duration::from_secs(10));
/// The limit for nodes of a list. Thousands of nodes may come at once.
const NODES_LIMIT: RateLimit = RateLimit::new(20, Duration::from_millis(500));
const TURNS_LIMIT: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// The limit for dropped datagrams.
const DROPS_LIMIT: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Logs events through `tracing`, up to the limits of their classes.
#[derive(Debug)]
pub(crate) struct Log {
    verbose: bool,
    passes: RateLimit,
    programs: RateLimit,
    nodes: RateLimit,
    refusals: RateLimit,
    turns: RateLimit,
    drops: RateLimit,
}

impl Log {
    /// Creates a log. With `verbose`, the log also contains turns of the token, and dropped datagrams and exchanges.
    pub(crate) const fn new(verbose: bool) -> Self {
        Self {
            verbose,
            passes: FAILURES_LIMIT,
            programs: FAILURES_LIMIT,
            nodes: NODES_LIMIT,
            refusals: FAILURES_LIMIT,
            turns: TURNS_LIMIT,
            drops: DROPS_LIMIT,
        }
    }

    /// Sets whether the log also contains turns of the token, and dropped datagrams and exchanges.
    pub(crate) const fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    pub(crate) const fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Returns the number of hidden lines before this line; `None` if this line is hidden too.
    pub(crate) fn admit(&mut self, now: Instant, rate: EventRate) -> Option<u64> {
        let limit = match rate {
            EventRate::Rare => return Some(0),
            EventRate::Turn => self.verbose.then_some(&mut self.turns)?,
            EventRate::Drop => self.verbose.then_some(&mut self.drops)?,
            EventRate::Pass => &mut self.passes,
            EventRate::Program => &mut self.programs,
            EventRate::Node => &mut self.nodes,
            EventRate::Refusal | EventRate::Difference => &mut self.refusals,
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Logs an event's line, after `hidden` lines that were not logged.
pub(crate) fn print(line: &Line<Keys>, hidden: u64) {
    let Keys { token_id, node, .. } = line.keys;
    let node = node.map(display);
    print_line!(line, hidden, token_id, node);
}
