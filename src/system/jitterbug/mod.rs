//! A node of a Jitterbug ring: one token, with data that grows from holder to holder, on an IP segment.

mod audience;
mod change;
mod commands;
mod condition;
mod error;
mod health;
mod history;
mod link;
mod locks;
mod node;
mod observe;
mod options;
mod programs;
mod report;
mod service;
mod start;
mod starvation;
mod status;

pub use options::Options;
pub use start::run;
