//! The clock of the times in grants.

use std::sync::OnceLock;

use ring_control::BootClock;
use ring_runtime::clock;
use tracing::warn;

/// Returns the clock of this process, as grants name it; `None`: it is unknown.
pub fn lease_clock() -> Option<BootClock> {
    static CLOCK: OnceLock<Option<BootClock>> = OnceLock::new();
    let find = || match clock::boot_clock_offset() {
        Ok((boot, offset_ns)) => Some(BootClock { boot, offset_ns }),
        Err(error) => {
            warn!(
                event = "clock_unknown",
                "cannot determine the clock of leases: {error}; in another time namespace ringctl takes no lock"
            );
            None
        }
    };
    CLOCK.get_or_init(find).clone()
}
