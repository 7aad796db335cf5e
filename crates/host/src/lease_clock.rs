//! The clock that defines the times in grants.

use std::sync::OnceLock;

use ring_control::BootClock;
use ring_runtime::clock;
use tracing::warn;

use crate::observe::events;

/// Returns the clock of this process in the form for grants; `None` if the clock is unknown.
pub fn lease_clock() -> Option<BootClock> {
    static CLOCK: OnceLock<Option<BootClock>> = OnceLock::new();
    let find = || match clock::boot_clock_offset() {
        Ok((boot, offset_ns)) => Some(BootClock { boot, offset_ns }),
        Err(error) => {
            warn!(
                event = events::CLOCK_UNKNOWN,
                "cannot determine the clock that defines leases: {error}; a ringctl in another time namespace cannot \
                 take a lock"
            );
            None
        }
    };
    CLOCK.get_or_init(find).clone()
}
