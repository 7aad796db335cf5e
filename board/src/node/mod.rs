//! A node of the ring, in the host of `ringd`. Start with `start.rs`.

mod condition;
mod file_warning;
mod link;
mod observer;
mod page;
mod report;
mod start;
mod status;
mod system;
mod troubles;

pub use start::run;
