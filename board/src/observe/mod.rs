//! Describes a node's events. The log and watchers show the same sentence.

mod describe;
mod log;

pub(crate) use describe::{Keys, describe, is_routine, method_name};
pub(crate) use log::{Log, print};
