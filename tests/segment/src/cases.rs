//! Cases of one test that wait at one time.

use std::thread;

use anyhow::{Context, Result, anyhow};

/// A name, and what runs.
pub type Case<F = fn() -> Result<()>> = (&'static str, F);

/// Runs all of them beside one another, each in a thread of its name. What they cost together is what the longest does: for cases of
/// an exclusive test that mostly wait.
///
/// # Errors
/// That of the first one, in their order, that fails or panics, with its name.
pub fn side_by_side<F>(cases: &[Case<F>]) -> Result<()>
where
    F: Fn() -> Result<()> + Sync,
{
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (name, run) in cases {
            let thread = thread::Builder::new().name((*name).to_owned());
            threads.push((*name, thread.spawn_scoped(scope, run)?));
        }
        let mut all = Ok(());
        for (name, thread) in threads {
            let ended = thread
                .join()
                .unwrap_or_else(|_| Err(anyhow!("it panicked")));
            all = all.and(ended.with_context(|| name.to_owned()));
        }
        all
    })
}
