//! The clock of the times that clients are told.

use std::sync::OnceLock;

use ring_control::BootClock;
use ring_runtime::clock;
use tracing::warn;

/// Returns the clock of this process, as grants name it; `None`: it is not known.
pub fn lease_clock() -> Option<BootClock> {
    static CLOCK: OnceLock<Option<BootClock>> = OnceLock::new();
    let find = || match clock::of_boot() {
        Ok((boot, offset_ns)) => Some(BootClock { boot, offset_ns }),
        Err(error) => {
            warn!(
                event = "clock_unknown",
                "cannot find out which clock this is: {error}; ringctl takes no lock outside the first time namespace"
            );
            None
        }
    };
    CLOCK.get_or_init(find).clone()
}
