//! Runs one Jitterbug node through a script, and checks it with a small oracle. Any bytes are a valid script. The fuzz
//! target and the tests share this module.

mod connections;
mod event_counts;
mod harness;
mod network_steps;
mod oracle;
mod steps;
mod wire;

use crate::script::read;
use harness::Harness;
use steps::{NodeOptions, Step};

/// Runs the script in `data`.
///
/// # Panics
/// Panics if a check of the oracle fails.
pub(crate) fn run(data: &[u8]) {
    let Some((options, steps)) = read::<NodeOptions, Step>(data) else {
        return;
    };
    let mut harness = Harness::new(&options);
    for step in steps {
        harness.step(step);
    }
}
