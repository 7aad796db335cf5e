//! Observers of events: log lines and counters. An observer gets every event, but cannot change anything. While the
//! token moves without problems, observers allocate no memory. Start with `subscriber.rs`.

pub mod events;
mod hold_file;
mod hold_layer;
mod journal;
mod latency;
mod line;
mod name_writer;
mod rate_limit;
mod repeat_filter;
mod subscriber;

pub use events::LogEvent;
pub use latency::Latency;
pub use line::{HiddenLines, Line};
pub use rate_limit::RateLimit;
pub use subscriber::{
    LogOutput, LogSettings, LogTarget, Style, Verbosity, goes_to_journal, log_early, subscriber,
};
pub use tracing::Level;
