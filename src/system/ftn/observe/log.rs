//! Logs each event as one line.

use std::time::Duration;

use ring_host::observe::{Line, RateLimit};
use ring_host::print_line;
use ring_proto::ftn::server::Event;
use ring_proto::time::Instant;
use tracing::field::display;

use super::describe::{EventRate, Keys};
use super::grant_log::GrantLog;

/// The limit for sessions that begin, or end in an orderly way.
const TURNS_LIMIT: RateLimit = RateLimit::new(200, Duration::from_millis(10));
/// The limit for sessions that ended because of silence. After a split, silence may end thousands of sessions, and the
/// log needs only a few lines about them.
const SESSIONS_LIMIT: RateLimit = RateLimit::new(10, Duration::from_secs(3));
/// The limit for names of sessions. The limit for names equals the limit for grants.
const INTRODUCTIONS_LIMIT: RateLimit = RateLimit::new(100, Duration::from_secs(1));
/// The limit for senders with a different list.
const STRANGERS_LIMIT: RateLimit = RateLimit::new(5, Duration::from_secs(10));
/// The limit for dropped datagrams.
const DROPS_LIMIT: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Logs events through `tracing`, and limits the rate of each class of events.
#[derive(Debug)]
pub(crate) struct Log {
    verbose: bool,
    turns: RateLimit,
    sessions: RateLimit,
    introductions: RateLimit,
    strangers: RateLimit,
    drops: RateLimit,
    grants: GrantLog,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AdmittedEvent {
    /// Number of hidden lines before this line.
    pub hidden: u64,
    /// Duration of the hold, if this event ends a hold.
    pub held: Option<Duration>,
}

impl Log {
    /// Creates a log. With `verbose`, the log also contains sessions that begin and end, and dropped datagrams.
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            turns: TURNS_LIMIT,
            sessions: SESSIONS_LIMIT,
            introductions: INTRODUCTIONS_LIMIT,
            strangers: STRANGERS_LIMIT,
            drops: DROPS_LIMIT,
            grants: GrantLog::new(),
        }
    }

    pub(crate) const fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    pub(crate) const fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Returns whether to log an event about a token, so that the caller describes only logged events. Returns `Err` if
    /// the event is not about a token.
    pub(crate) fn admit_token(
        &mut self,
        now: Instant,
        event: &Event,
    ) -> Result<Option<AdmittedEvent>, ()> {
        self.grants.admit(now, event)
    }

    /// Returns the number of hidden lines before this line; `None` if the limit hides this line too.
    pub(crate) fn admit(&mut self, now: Instant, rate: EventRate) -> Option<u64> {
        let limit = match rate {
            EventRate::Rare | EventRate::Grant => return Some(0),
            EventRate::Drop => self.verbose.then_some(&mut self.drops)?,
            EventRate::Session => self.verbose.then_some(&mut self.turns)?,
            EventRate::Expiry => &mut self.sessions,
            EventRate::Introduction => &mut self.introductions,
            EventRate::Stranger => &mut self.strangers,
        };
        limit.allow(now).then(|| limit.take_refused())
    }
}

/// Writes the log line of an event, and mentions the `hidden` lines before it that were not logged.
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
