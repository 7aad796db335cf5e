//! A node of a Lab2 ring: one token on an Ethernet segment. Start with `start.rs`.

#[cfg(test)]
mod announcement_tests;
mod attachment;
mod condition;
mod events;
mod grades;
mod guardian;
mod health;
mod history;
mod hook_change;
mod lock_texts;
mod lock_totals;
mod locks;
mod member_addresses;
mod minimum_times;
mod named_locks;
mod node;
mod node_environment;
pub mod observe;
mod options;
mod other_holds;
mod pausing;
mod recordings;
mod reload;
mod report;
mod runs;
mod service;
mod start;
mod state_file;
mod status;
mod stored_pause;
mod survey;
mod troubles;

pub use options::Options;
pub use start::run;
