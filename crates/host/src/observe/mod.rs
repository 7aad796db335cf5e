//! Subscribers to what happens: log lines and counters. They see every event and can change
//! nothing; while the token goes its plain way they allocate nothing.

mod journal;
mod latency;
mod line;
mod naming;
mod rate;
mod repeats;
mod subscriber;

pub use latency::Latency;
pub use line::{Line, NotShown};
pub use rate::RateLimit;
pub use subscriber::{LogOutput, Style, Taker, goes_to_journal, log_early, subscriber};
