//! Runs in which a machine may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a run comes to.
///
/// # Errors
/// It has panicked: with these words.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some((*panic.downcast_ref::<&str>()?).into()));
        text.unwrap_or_default()
    })
}
