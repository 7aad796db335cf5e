//! A log line an event.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::ftn::server::Event;
use ring_proto::time::Instant;
use tracing::field::display;

use super::holdings::Holdings;
use super::telling::{Keys, Rate};

/// Sessions that begin and end in order.
const TURNS: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// Sessions that ended by silence: after a cut thousands may, and a few lines say so.
const SESSIONS: RateLimit = RateLimit::new(10, Duration::from_secs(3));
/// Names of sessions, as often as grants that get a line.
const INTRODUCTIONS: RateLimit = RateLimit::new(100, Duration::from_secs(1));
/// Senders with another list.
const STRANGERS: RateLimit = RateLimit::new(5, Duration::from_secs(10));
/// Dropped datagrams.
const DROPS: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Prints a line an event through `tracing`, and limits how many.
#[derive(Debug)]
pub(crate) struct Log {
    verbose: bool,
    turns: RateLimit,
    sessions: RateLimit,
    introductions: RateLimit,
    strangers: RateLimit,
    drops: RateLimit,
    holdings: Holdings,
}

/// A line is to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// Number of lines suppressed before this one.
    pub hidden: u64,
    /// Duration of the hold that this event ends.
    pub held: Option<Duration>,
}

impl Log {
    /// If `verbose`, sessions that begin and end are told too, and why datagrams are dropped.
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            turns: TURNS,
            sessions: SESSIONS,
            introductions: INTRODUCTIONS,
            strangers: STRANGERS,
            drops: DROPS,
            holdings: Holdings::new(),
        }
    }

    /// Whether the log also prints the events of every session, and dropped datagrams.
    pub(crate) const fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Returns whether a line is to be printed for an event about a token: one that is not printed need not be described.
    /// `Err`: it is about something else.
    pub(crate) fn admit_token(
        &mut self,
        now: Instant,
        event: &Event,
    ) -> Result<Option<Admitted>, ()> {
        self.holdings.admit(now, event)
    }

    /// Returns how many lines like it were suppressed before it; `None`: it is suppressed, too.
    pub(crate) fn admit(&mut self, now: Instant, rate: Rate) -> Option<u64> {
        let limit = match rate {
            Rate::Rare | Rate::Grant => return Some(0),
            Rate::Drop => self.verbose.then_some(&mut self.drops)?,
            Rate::Session => self.verbose.then_some(&mut self.turns)?,
            Rate::Expiry => &mut self.sessions,
            Rate::Introduction => &mut self.introductions,
            Rate::Stranger => &mut self.strangers,
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Prints the line of an event, `hidden` being how many before it were not printed.
pub(crate) fn print(line: &Line<Keys>, hidden: u64) {
    let Keys {
        configuration,
        server,
        session,
        address,
        ref token,
        ref program,
        ref fencing_number,
        held_ns,
        rate: _,
    } = line.keys;
    let address = address.map(display);
    print_line!(
        line,
        hidden,
        configuration,
        server,
        session,
        address,
        token,
        program,
        fencing_number,
        held_ns
    );
}
