//! A machine that panics ends its run, not the simulator.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a world.
///
/// # Errors
/// It has panicked: with what message.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some((*panic.downcast_ref::<&str>()?).into()));
        text.unwrap_or_default()
    })
}
