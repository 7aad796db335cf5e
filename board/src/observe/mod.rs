//! What is said of a node's events: one sentence for the log and for who watches.

mod log;
mod telling;

pub(crate) use log::{Log, print};
pub(crate) use telling::{Keys, describe, is_routine, method_name};
