//! What is said of the events of a node of a Jitterbug ring: one sentence for the log and for who watches. What happens
//! is counted by the machine itself.

mod log;
mod telling;
#[cfg(test)]
mod tests;

pub(super) use log::{Log, print};
pub(super) use telling::{Keys, Rate, describe, difference};
