//! A machine led through whatever a sequence of bytes says, against a small oracle: the fuzz
//! target and the tests share it.

mod jobs;
mod oracle;
mod predict;
mod script;
mod station;

use crate::script::read;
use script::{Nature, Step};
use station::Station;

/// Leads a machine through the script that `data` is read as.
///
/// # Panics
/// The machine did what it must not.
pub(crate) fn run(data: &[u8]) {
    let Some((nature, steps)) = read::<Nature, Step>(data) else {
        return;
    };
    let mut station = Station::new(&nature);
    for step in steps {
        station.step(&step);
    }
}
