//! A node of a Jitterbug ring, alone, led through whatever a sequence of bytes says: the fuzz target and the tests share
//! it.

mod connections;
mod hearing;
mod oracle;
mod station;
mod steps;
mod tally;
mod wire;

use crate::script::read;
use station::Station;
use steps::{Nature, Step};

/// Leads a node through the script that `data` is read as.
///
/// # Panics
/// The node did what it must not.
pub(crate) fn run(data: &[u8]) {
    let Some((nature, steps)) = read::<Nature, Step>(data) else {
        return;
    };
    let mut station = Station::new(&nature);
    for step in steps {
        station.step(step);
    }
}
