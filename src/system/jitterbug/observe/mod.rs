//! Describes each event of a Jitterbug node in one sentence, for the log and for watchers. The state machine itself
//! counts events. Start with `describe.rs`.

mod describe;
mod log;
#[cfg(test)]
mod tests;

pub(super) use describe::{EventRate, Keys, describe, describe_difference};
pub(super) use log::{Log, print};
