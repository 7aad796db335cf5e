//! A server of the token service: many named tokens, over UDP. Start with `start.rs`.

mod addresses;
mod client_names;
mod condition;
mod error;
mod events;
mod health;
mod link;
mod node;
mod observe;
mod observers;
mod option_warnings;
mod options;
mod reload;
mod report;
mod start;
mod state_file;
mod status;
mod troubles;
mod trust;

pub use options::{Options, Quorum};
pub use start::run;
