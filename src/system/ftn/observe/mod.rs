//! What is said of the events of a server of the token service: one sentence for the log and for who watches.
//! What happens with each datagram is counted by the machine itself.

mod holdings;
mod log;
mod names;
mod telling;
#[cfg(test)]
mod tests;

pub(super) use log::{Log, print};
pub(super) use names::{Names, state_name};
pub(super) use telling::{Keys, News, Rate, other_options};
