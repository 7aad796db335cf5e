//! Logs and counts the events of a Lab2 node. Start with `describe.rs`.

#[cfg(test)]
mod captured;
mod describe;
mod display;
mod log;
mod routine;
mod tally;
pub mod text;
mod trouble;

#[cfg(test)]
pub(crate) use captured::captured;
pub(crate) use describe::{Audience, Description, PauseNews, RingState, describe};
pub(crate) use display::{DifferenceText, Ip, KnownToken, Limit, PauseText, QuorumHint};
pub use log::Log;
use ring_proto::lab2::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;
pub(crate) use routine::Routine;
pub use tally::Tally;
pub(crate) use trouble::describe as describe_trouble;

/// The counters and the log of the daemon.
#[derive(Debug)]
pub struct Observers {
    /// The counters.
    pub tally: Tally,
    /// The log.
    pub log: Log,
}

impl Observe<Event> for Observers {
    fn observe(&mut self, now: Now, event: &Event) {
        self.tally.observe(now, event);
        self.log.observe(now, event);
    }
}
