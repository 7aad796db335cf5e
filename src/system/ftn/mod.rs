//! A server of the token service: many named tokens, on UDP.

mod addresses;
mod audience;
mod condition;
mod doubts;
mod error;
mod health;
mod link;
mod node;
mod observe;
mod options;
mod report;
mod start;
mod state_file;
mod status;

pub use options::{Options, Quorum};
pub use start::run;
