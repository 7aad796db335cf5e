//! A node of the ring, in the host of `ringd`.

mod audience;
mod condition;
mod elsewhere;
mod link;
mod report;
mod start;
mod status;
mod system;
mod troubles;
mod web;

pub use start::run;
