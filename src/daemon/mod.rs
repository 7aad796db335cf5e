//! The daemon: the one loop and what it wires together. No protocol decisions.

mod attachment;
mod backstop;
mod change;
mod client;
mod descriptors;
mod duration;
mod endpoint;
mod error;
mod history;
mod hooks;
mod housekeeping;
mod lock_totals;
mod notify;
mod options;
mod pace;
mod pausing;
mod report;
mod run;
mod server;
mod service;
mod share;
mod signals;
mod state_file;
mod status;
mod stored_pause;
mod surroundings;
mod verdict;
mod waiting;
mod who;

pub(crate) use duration::{parse_duration, spoken};
pub use error::Error;
pub use options::{LogFormat, Options};
pub use run::run;
