//! A node of a Jitterbug ring: one token on an IP segment, with data that grows from holder to holder. Start with
//! `start.rs`.

mod commands;
mod condition;
mod error;
mod events;
mod health;
mod history;
mod hook_change;
mod link;
mod locks;
mod node;
mod observe;
mod observers;
mod options;
mod programs;
mod report;
mod service;
mod start;
mod starvation;
mod status;
mod troubles;

pub use options::Options;
pub use start::run;
