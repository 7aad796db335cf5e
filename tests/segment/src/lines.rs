//! Output of a daemon.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Lines of a process's output, for which tests can wait.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: Mutex<Vec<String>>,
    grown: Condvar,
}

impl Lines {
    /// Reads a stream to its end in a new thread.
    pub(crate) fn follow(self: &Arc<Self>, stream: impl Read + Send + 'static) -> Result<()> {
        let this = Arc::clone(self);
        let read = move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                this.lock().push(line);
                this.grown.notify_all();
            }
        };
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(read)
            .context("cannot start a thread for a daemon's output")?;
        Ok(())
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// Waits for the first line after `from` lines that `wanted` accepts.
    pub(crate) fn wait_for(
        &self,
        from: usize,
        timeout: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let deadline = Instant::now() + timeout;
        let mut lines = self.lock();
        loop {
            if let Some(line) = lines.iter().skip(from).find(|line| wanted(line)) {
                return Ok(line.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!(
                    "the line did not appear in {timeout:?}; the output:\n{}",
                    lines.join("\n")
                );
            }
            let woken = self.grown.wait_timeout(lines, left);
            lines = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
