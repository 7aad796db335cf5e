//! Describes each event of a token server in one sentence, for the log and for watchers. The state machine itself
//! counts datagrams. Start with `describe.rs`.

mod describe;
mod grant_log;
mod log;
mod names;
#[cfg(test)]
mod tests;

pub(super) use describe::{Describer, EventRate, Keys, describe_other_options};
pub(super) use log::{Log, print};
pub(super) use names::{Names, TokenName, state_name};
