//! Subscribers to what happens: log lines and counters. They see every event and can change
//! nothing; while the token goes its plain way they allocate nothing.

mod latency;
mod log;
mod rate;
mod routine;
mod subscriber;
mod tally;
pub mod text;
mod words;

pub use latency::Latency;
pub use log::Log;
pub use rate::RateLimit;
use ring_proto::lab2::Event;
use ring_proto::time::Now;
pub(crate) use routine::Routine;
pub use subscriber::{LogOutput, goes_to_journal};
pub use tally::Tally;
pub use words::{Differs, Ip, Limit, TokenWords, Wrong};

use crate::driver::Observe;

/// All subscribers of the daemon.
#[derive(Debug)]
pub struct Observers {
    /// Counts.
    pub tally: Tally,
    /// Prints.
    pub log: Log,
}

impl Observe<Event> for Observers {
    fn observe(&mut self, now: Now, event: &Event) {
        self.tally.observe(now, event);
        self.log.observe(now, event);
    }
}
