//! A log line an event.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::time::Instant;
use tracing::field::display;

use super::telling::{Keys, Rate};

/// What goes on failing turn after turn.
const FAILURES: RateLimit = RateLimit::new(5, Duration::from_secs(10));
/// Nodes of a list, which may come by the thousand.
const NODES: RateLimit = RateLimit::new(20, Duration::from_millis(500));
/// Turns of the token.
const TURNS: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// What was dropped.
const DROPS: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Prints a line an event through `tracing`, and limits how many.
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
    /// If `verbose`, turns of the token are told too, and why datagrams and exchanges are dropped.
    pub(crate) const fn new(verbose: bool) -> Self {
        Self {
            verbose,
            passes: FAILURES,
            programs: FAILURES,
            nodes: NODES,
            refusals: FAILURES,
            turns: TURNS,
            drops: DROPS,
        }
    }

    /// Whether the log also prints the events of every turn, and dropped datagrams.
    pub(crate) const fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Returns how many lines like it were suppressed before it; `None`: it is suppressed, too.
    pub(crate) fn admit(&mut self, now: Instant, rate: Rate) -> Option<u64> {
        let limit = match rate {
            Rate::Rare => return Some(0),
            Rate::Turn => self.verbose.then_some(&mut self.turns)?,
            Rate::Drop => self.verbose.then_some(&mut self.drops)?,
            Rate::Pass => &mut self.passes,
            Rate::Program => &mut self.programs,
            Rate::Node => &mut self.nodes,
            Rate::Refusal | Rate::Difference => &mut self.refusals,
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Prints the line of an event, `hidden` being how many before it were not printed.
pub(crate) fn print(line: &Line<Keys>, hidden: u64) {
    let Keys { token_id, node, .. } = line.keys;
    let node = node.map(display);
    print_line!(line, hidden, token_id, node);
}
