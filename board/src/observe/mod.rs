//! The description of a node's events: one sentence for the log and for watchers.

mod describe;
mod log;

pub(crate) use describe::{Keys, describe, is_routine, method_name};
pub(crate) use log::{Log, print};
