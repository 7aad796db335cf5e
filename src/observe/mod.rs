//! Subscribers to what happens: log lines and counters. They see every event and can change
//! nothing; while the token goes its plain way they allocate nothing.

pub mod ftn;
pub mod jitterbug;
mod journal;
pub mod lab2;
mod latency;
mod line;
mod naming;
mod rate;
mod repeats;
mod subscriber;

pub use latency::Latency;
pub use line::{Line, NotShown};
pub use rate::RateLimit;
pub use subscriber::{LogOutput, goes_to_journal, log_early};
