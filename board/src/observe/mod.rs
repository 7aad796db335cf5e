//! Describes a node's events. The log and the watchers show the same sentence for an event.

mod describe;
mod log;

pub(crate) use describe::{Keys, describe, is_routine, method_name};
pub(crate) use log::{Log, print};
