//! Describes the events of a node of a Jitterbug ring, in one sentence for the log and watchers. The machine itself
//! counts events. Start with `describe.rs`.

mod describe;
mod log;
#[cfg(test)]
mod tests;

pub(super) use describe::{EventRate, Keys, describe, describe_difference};
pub(super) use log::{Log, print};
