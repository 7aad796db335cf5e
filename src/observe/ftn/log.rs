//! A log line an event.

use std::time::Duration;

use ring_proto::ftn::server::Event;
use ring_proto::time::Instant;
use tracing::field::display;

use super::telling::Keys;
use crate::observe::{Line, RateLimit};
use crate::print_line;

/// Sessions that begin and end in order.
const TURNS: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// Sessions that ended by silence: after a cut thousands may, and a few lines say so.
const SESSIONS: RateLimit = RateLimit::new(10, Duration::from_secs(3));
/// Senders with another list.
const STRANGERS: RateLimit = RateLimit::new(5, Duration::from_secs(10));
/// Dropped datagrams.
const DROPS: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Prints a line an event through `tracing`, and limits how many.
#[derive(Debug)]
pub struct Log {
    verbose: bool,
    turns: RateLimit,
    sessions: RateLimit,
    strangers: RateLimit,
    drops: RateLimit,
}

impl Log {
    /// If `verbose`, sessions that begin and end are told too, and why datagrams are dropped.
    #[must_use]
    pub const fn new(verbose: bool) -> Self {
        Self {
            verbose,
            turns: TURNS,
            sessions: SESSIONS,
            strangers: STRANGERS,
            drops: DROPS,
        }
    }

    /// Whether a line is to be printed for an event, and how many before it were not. Who prints none formats
    /// none.
    pub fn admit(&mut self, now: Instant, event: &Event) -> Option<u64> {
        let limit = match event {
            Event::Dropped { .. } => self.verbose.then_some(&mut self.drops)?,
            Event::SessionBegun { .. }
            | Event::SessionAdopted { .. }
            | Event::SessionLoggedOut { .. } => self.verbose.then_some(&mut self.turns)?,
            Event::SessionExpired { .. } => &mut self.sessions,
            Event::OtherList { .. } | Event::Misplaced { .. } => &mut self.strangers,
            _ => return Some(0),
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Prints the line of an event, `hidden` being how many before it were not printed.
pub fn print(line: &Line<Keys>, hidden: u64) {
    let Keys {
        configuration,
        server,
        session,
        address,
    } = line.keys;
    let address = address.map(display);
    print_line!(line, hidden, configuration, server, session, address);
}
