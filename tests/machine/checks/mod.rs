//! Runs a Lab2 state machine through a script, and checks it with a small oracle. Any bytes are a valid script. The
//! fuzz target and the tests share this module.

mod harness;
mod jobs;
mod named_locks;
mod oracle;
mod predict;
mod script;

use crate::script::read;
use harness::Harness;
use script::{MachineOptions, Step};

/// Runs the script in `data`.
///
/// # Panics
/// Panics if a check of the oracle fails.
pub(crate) fn run(data: &[u8]) {
    let Some((options, steps)) = read::<MachineOptions, Step>(data) else {
        return;
    };
    let mut harness = Harness::new(&options);
    for step in steps {
        harness.step(&step);
    }
}
