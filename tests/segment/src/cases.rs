//! Runs the cases of one test in parallel.

use std::thread;

use anyhow::{Result, anyhow, ensure};

/// Name and function of a case.
pub type Case<F = fn() -> Result<()>> = (&'static str, F);

/// Runs all cases in parallel, each in a thread with its name. If the cases of an exclusive test mostly wait, the test
/// takes only as long as its longest case.
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
        let mut failed = Vec::new();
        for (name, thread) in threads {
            let ended = thread
                .join()
                .unwrap_or_else(|_| Err(anyhow!("the case panicked")));
            failed.extend(ended.err().map(|error| format!("{name}: {error:?}")));
        }
        ensure!(failed.is_empty(), "{}", failed.join("\n"));
        Ok(())
    })
}
